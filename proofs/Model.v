(** * The model: definitions only.

    This file has no proofs.  It is the one file that a reader has to compare
    with the book: every theorem of this folder is about what stands here.
    In brackets: the label of the definition in the book.  Indices start at 0
    here, so token 0 is the book's token 1, column 0 is the first column and
    column d - 1 the last; a vector is a function of its index, a matrix one of
    row and column, and what they are outside of their range plays no part. *)

From Coq Require Import Reals List Arith.
Open Scope R_scope.

Definition vector := nat -> R.
Definition matrix := nat -> nat -> R.

(** v_0 + ... + v_{n-1}. *)
Fixpoint Sum (n : nat) (v : vector) : R :=
  match n with O => 0 | S k => Sum k v + v k end.

(** <v, y> for the signs y, which are a list. *)
Definition dot (n : nat) (v : vector) (y : list R) : R :=
  Sum n (fun k => v k * nth k y 0).

(** M x for a matrix with d columns. *)
Definition times (d : nat) (M : matrix) (x : vector) : vector :=
  fun i => Sum d (fun k => M i k * x k).

Definition product (d : nat) (M M' : matrix) : matrix :=
  fun i k => Sum d (fun l => M i l * M' l k).

Definition transpose (M : matrix) : matrix := fun i k => M k i.

(** How many i < n have a property. *)
Definition number (n : nat) (property : nat -> bool) : nat := length (filter property (seq 0 n)).

(** ** Random signs  [def-random-signs] *)

(** All 2^m sign vectors of length m, each once (see [all_signs_spec]). *)
Fixpoint all_signs (m : nat) : list (list R) :=
  match m with
  | O => nil :: nil
  | S k => map (cons 1) (all_signs k) ++ map (cons (-1)) (all_signs k)
  end.

(** All matrices of m columns of signs, each column of length k, each once. *)
Fixpoint all_columns (m k : nat) : list (list (list R)) :=
  match m with
  | O => nil :: nil
  | S l => flat_map (fun y => map (cons y) (all_columns l k)) (all_signs k)
  end.

(** The mean of F over a list: its expectation if each element is as likely. *)
Definition mean {T : Type} (l : list T) (F : T -> R) : R :=
  fold_right (fun y s => F y + s) 0 l / INR (length l).

(** 1 if x > s, and 1 if x >= s, else 0: their means are probabilities. *)
Definition above (s x : R) : R := if Rlt_dec s x then 1 else 0.
Definition reaches (s x : R) : R := if Rle_dec s x then 1 else 0.

(** P[B > x] and P[B >= x] for B ~ Bin(m, 1/2). *)
Definition binomial_above (m : nat) (x : R) : R :=
  Sum (S m) (fun i => Binomial.C m i / 2 ^ m * above x (INR i)).
Definition binomial_reaches (m : nat) (x : R) : R :=
  Sum (S m) (fun i => Binomial.C m i / 2 ^ m * reaches x (INR i)).

(** The mean of G (x + s_1 (2 B_1 - m_1) + ...) for one independent B ~ Bin(m, 1/2)
    for each s of a list, with m = m(s). *)
Fixpoint mean_of_binomials (m : nat -> nat) (list_of_s : list nat) (G : R -> R) (x : R) : R :=
  match list_of_s with
  | nil => G x
  | s :: rest => Sum (S (m s)) (fun i => Binomial.C (m s) i / 2 ^ m s *
      mean_of_binomials m rest G (x + INR s * (2 * INR i - INR (m s))))
  end.

(** ** Weights  [def-softmax-normaliser, def-softmax-weights, def-linear-weights] *)

(** From the scores of n tokens to their weights. *)
Definition kernel := nat -> vector -> vector.

(** u / <u, 1_n>; no theorem says anything where the sum is 0. *)
Definition normalised (u : R -> R) : kernel :=
  fun n v i => u (v i) / Sum n (fun k => u (v k)).

Definition softmax : kernel := normalised exp.
Definition linear : kernel := normalised (fun s => s).

(** ** Not normalised  [def-four-mechanisms] *)

Definition raw (u : R -> R) : kernel := fun n v i => u (v i).

(** ** Other kernels  [def-kernels]

    Of the book's list softmax with a temperature, linear attention, every degree,
    hard attention and sparsemax; theorems about any kernel are about the others
    as well. *)

(** A window depends on the place j of its row: one kernel for each row.  A kernel
    that stands where one for each row is meant is the same in all of them. *)
Definition kernels := nat -> kernel.
Definition everywhere (K : kernel) : kernels := fun _ => K.
Coercion everywhere : kernel >-> kernels.

Definition heated (beta : R) : kernel := normalised (fun s => exp (beta * s)).

(** Where the scores are positive; no theorem says anything of others. *)
Definition degree (beta : R) : kernel := normalised (fun s => Rpower s beta).

(** Hard attention: the largest of the n scores share. *)
Definition is_largest (n : nat) (v : vector) (i : nat) : bool :=
  forallb (fun k => if Rle_dec (v k) (v i) then true else false) (seq 0 n).
Definition hard : kernel := fun n v i =>
  if is_largest n v i then 1 / Sum n (fun k => if is_largest n v k then 1 else 0) else 0.

(** Sparsemax: the point of the simplex next to the scores. *)
Definition in_simplex (n : nat) (f : vector) : Prop :=
  (forall i, (i < n)%nat -> 0 <= f i) /\ Sum n f = 1.
Definition is_sparsemax (n : nat) (v f : vector) : Prop :=
  in_simplex n f /\ forall g, in_simplex n g ->
  Sum n (fun i => (f i - v i) ^ 2) <= Sum n (fun i => (g i - v i) ^ 2).

(** ** Self-attention  [def-kronecker, def-vec, def-self-attention] *)

(** A1 (x) A2 for n x d matrices. *)
Definition kron (n d : nat) (A1 A2 : matrix) : matrix :=
  fun r s => A1 (r / n)%nat (s / d)%nat * A2 (r mod n)%nat (s mod d)%nat.

Definition vec (d : nat) (X : matrix) : vector := fun s => X (s / d)%nat (s mod d)%nat.

(** A_j x: block j has the n rows from j n on. *)
Definition scores (n d : nat) (A1 A2 X : matrix) (j : nat) : vector :=
  fun i => times (d * d) (kron n d A1 A2) (vec d X) (j * n + i)%nat.

(** o_j = A3^T f_j. *)
Definition attention (K : kernel) (n d : nat) (A1 A2 A3 X : matrix) (j : nat) : vector :=
  fun k => Sum n (fun i => A3 i k * K n (scores n d A1 A2 X j) i).

(** ** Data  [def-token-data, def-ragged-data, def-count-data] *)

Definition b (c : R) : R := 1 - c.
Definition L (n : nat) : R := ln (INR n).

(** The general form: n tokens of width d, each of one of d - 2 classes, some of
    them marked with the strength a. *)
Record data := Data {
  width : nat;                                               (* d *)
  size : nat;                                                (* n *)
  class : nat -> nat;
  marked : nat -> bool;
  X : matrix;
  strength : R;                                              (* a *)
  constant : R }.                                            (* c *)

Definition A (D : data) : matrix := fun i k =>
  if Nat.eqb k 0 then (if marked D i then strength D * sqrt (L (size D)) else 0)
  else if Nat.eqb k (width D - 1) then constant D * sqrt (L (size D))
  else if Nat.eqb (k - 1) (class D i) then b (constant D) * sqrt (L (size D)) else 0.

(** What every theorem assumes: n >= 2, a >= 0, 0 < c < 1, each token has a class. *)
Definition conditions (D : data) : Prop :=
  (2 <= size D)%nat /\ 0 <= strength D /\ 0 < constant D < 1 /\
  forall i, (i < size D)%nat -> (class D i < width D - 2)%nat.

Definition ones : matrix := fun _ _ => 1.

(** The scores of row j, f_j and o_j for A_1 = A_2 = A_3 = A. *)
Definition score (D : data) (j : nat) : vector :=
  scores (size D) (width D) (A D) (A D) (X D) j.
Definition f (K : kernels) (D : data) (j : nat) : vector := K j (size D) (score D j).
Definition o (K : kernels) (D : data) (j : nat) : vector :=
  attention (K j) (size D) (width D) (A D) (A D) (A D) (X D) j.

(** ** D_0 and D_1  [def-token-data] *)

(** n = (d - 2) t. *)
Definition n (d t : nat) : nat := ((d - 2) * t)%nat.

(** One marked token, t stacked copies of an identity of d - 2 columns. *)
Definition token_data (d t jstar : nat) (a c : R) : data :=
  Data d (n d t) (fun i => i mod (d - 2))%nat (fun i => Nat.eqb i jstar) ones a c.

(** What the book assumes of it. *)
Definition token_conditions (d t jstar : nat) (a c : R) : Prop :=
  (2 <= n d t)%nat /\ (jstar < n d t)%nat /\ 0 <= a /\ 0 < c < 1.

(** ** Ragged classes  [def-ragged-data] *)

(** Any classes; no theorem needs that each of them has a token. *)
Definition ragged_data (d n : nat) (class : nat -> nat) (jstar : nat) (a c : R) : data :=
  Data d n class (fun i => Nat.eqb i jstar) ones a c.

(** The number t_k of tokens of class k. *)
Definition class_count (n : nat) (class : nat -> nat) (k : nat) : nat :=
  number n (fun i => Nat.eqb k (class i)).

(** The concentration Q; that it has its two values stands in no theorem. *)
Definition concentration (d n : nat) (class : nat -> nat) : R :=
  Sum (d - 2) (fun k => (INR (class_count n class k) / INR n) ^ 2).

(** ** Counting data  [def-count-data] *)

(** The first s = rho n of n tokens are marked. *)
Definition count_data (d t s : nat) (a c : R) : data :=
  Data d (n d t) (fun i => i mod (d - 2))%nat (fun i => Nat.ltb i s) ones a c.

(** What the book assumes of it: rho t = r is an integer, so s = n d r. *)
Definition count_conditions (d t r : nat) (a c : R) : Prop :=
  (2 <= n d t)%nat /\ (1 <= r < t)%nat /\ 0 < a /\ 0 < c < 1.

(** The mass of the marked tokens at a gain, and the gap g. *)
Definition count_mass (rho gain : R) : R := rho * gain / (rho * gain + 1 - rho).
Definition count_gap (a : R) : R :=
  a / 2 * (count_mass (1 / 4) (1 + a) + count_mass (3 / 4) (1 + a)).

(** tau = (c + g) root L. *)
Definition count_tau (g : R) (D : data) : R := (constant D + g) * sqrt (L (size D)).

(** ** The same data with another matrix X *)

Definition with_X (D : data) (M : matrix) : data :=
  Data (width D) (size D) (class D) (marked D) M (strength D) (constant D).

(** ** The network  [def-threshold, def-relu, def-shifted-relu, def-network-tokens] *)

Definition tau (D : data) : R := (constant D + 1 / 10) * sqrt (L (size D)).

Definition relu (s : R) : R := Rmax s 0.
Definition shifted_relu (tau s : R) : R := Rmax (s - tau) 0.

(** F with the threshold s; Y is the list of the m columns of signs. *)
Definition F (s : R) (K : kernels) (D : data) (Y : list (list R)) : R :=
  relu (Sum (size D) (fun j =>
    fold_right (fun y r => shifted_relu s (dot (width D) (o K D j) y) + r) 0 Y)).

(** P[F fires] with m columns: the share of all sign matrices with F > 0. *)
Definition P_fires (s : R) (K : kernels) (D : data) (m : nat) : R :=
  mean (all_columns m (width D)) (fun Y => above 0 (F s K D Y)).

(** pi: the probability that <o_j, y> > s for some j. *)
Definition P_column (s : R) (K : kernels) (D : data) : R :=
  mean (all_signs (width D)) (fun y =>
    if existsb (fun j => if Rlt_dec s (dot (width D) (o K D j) y) then true else false)
         (seq 0 (size D)) then 1 else 0).

(** ** One query  [def-query-data, def-network-one-query] *)

(** The score vector v is A x, see [query_data_matrices]. *)
Definition V0 (l h : R) (n : nat) (v : vector) : Prop :=
  forall i, (i < n)%nat -> l <= v i <= h.

Definition V1 (l h kappa : R) (n : nat) (v : vector) (jstar : nat) : Prop :=
  (jstar < n)%nat /\ v jstar = kappa * ln (INR n) /\
  forall i, (i < n)%nat -> i <> jstar -> l <= v i <= h.

Definition query_F (tau : R) (K : kernel) (n : nat) (v : vector) (Y : list (list R)) : R :=
  relu (fold_right (fun y r => shifted_relu tau (dot n (K n v) y) + r) 0 Y).

Definition query_P_fires (tau : R) (K : kernel) (n m : nat) (v : vector) : R :=
  mean (all_columns m n) (fun Y => above 0 (query_F tau K n v Y)).

(** ** What several statements share *)

(** Weight w for token jstar, the rest in equal parts for the n - 1 others. *)
Definition spread (n jstar : nat) (w : R) : vector := fun i =>
  if Nat.eqb i jstar then w else (1 - w) / (INR n - 1).

(** Row jstar gives the token jstar the weight w_own, every other row w_other. *)
Definition sees (K : kernels) (D : data) (jstar : nat) (w_own w_other : R) : Prop :=
  forall j i, (j < size D)%nat -> (i < size D)%nat ->
  f K D j i = spread (size D) jstar (if Nat.eqb j jstar then w_own else w_other) i.

(** Row jstar has the weights x1 at jstar and z1 elsewhere, every other row x2 and z2. *)
Definition two_weights (K : kernels) (D : data) (jstar : nat) (x1 z1 x2 z2 : R) : Prop :=
  forall j i, (j < size D)%nat -> (i < size D)%nat ->
  f K D j i = if Nat.eqb i jstar then (if Nat.eqb j jstar then x1 else x2)
              else (if Nat.eqb j jstar then z1 else z2).

(** The signs y_1, y_{k*} and y_d of a column, and the sum S of all others. *)
Definition y_first (y : list R) : R := nth 0 y 0.
Definition y_star (d jstar : nat) (y : list R) : R := nth (S (jstar mod (d - 2))) y 0.
Definition y_last (d : nat) (y : list R) : R := nth (d - 1) y 0.
Definition y_others (d jstar : nat) (y : list R) : R :=
  Sum (d - 2) (fun l => if Nat.eqb l (jstar mod (d - 2))%nat then 0 else nth (S l) y 0).

(** The mean over the eight patterns of (y_1, y_{k*}, y_d). *)
Definition mean_of_eight (B : R -> R -> R -> R) : R :=
  1 / 8 * (B 1 1 1 + B 1 1 (-1) + B 1 (-1) 1 + B 1 (-1) (-1) +
           B (-1) 1 1 + B (-1) 1 (-1) + B (-1) (-1) 1 + B (-1) (-1) (-1)).

(** Weights of the mark: p, q and p_lin. *)
Definition p (n a : R) : R := 1 / (1 + (n - 1) * Rpower n (- (a * (1 + a)))).
Definition q (n a : R) : R := 1 / (1 + (n - 1) * Rpower n (- a)).
Definition p_lin (n a : R) : R := (1 + a) / (n + a).

(** Q_w and Hoeffding's bound for a row that gives the mark the weight w. *)
Definition Q (d t : nat) (w : R) : R :=
  let r := (1 - w) / (INR (n d t) - 1) in
  (w + (INR t - 1) * r) ^ 2 + (INR d - 3) * (INR t * r) ^ 2.

Definition bound (d t : nat) (a c w : R) : R :=
  exp (- ((1 / 10 - a * w) ^ 2 / (2 * b c ^ 2 * Q d t w))).

(** N of the one-query theorem. *)
Definition N (l h kappa : R) (n : nat) : R :=
  ((kappa * ln (INR n)) ^ 2 + (INR n - 1) * h ^ 2) /
  (kappa * ln (INR n) + (INR n - 1) * l) ^ 2.

(** 1/phi. *)
Definition inv_phi : R := (sqrt 5 - 1) / 2.
