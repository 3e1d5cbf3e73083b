(** * The model: definitions only.

    This file has no proofs.  It is the one file that a reader has to compare
    with the book: every theorem of this folder is about what stands here.
    Indices start at 0, so "first column" is column 0 and "last column" is
    column d - 1.  In brackets: the label of the definition in the book. *)

From Coq Require Import Reals List Arith.
Open Scope R_scope.

(** The sum of f 0, ..., f (n-1). *)
Fixpoint Sum (n : nat) (f : nat -> R) : R :=
  match n with O => 0 | S k => Sum k f + f k end.

(** Weights as formulas: a token of gain r against n - 1 tokens of gain 1. *)
Definition share (n r : R) : R := r / (r + n - 1).

(** The gain of the mark in its own row under softmax, n^{a(1+a)}. *)
Definition own_gain (n a : R) : R := Rpower n (a * (1 + a)).

(** ** The data  [def-token-data] *)

Record data := Data { d : nat; t : nat; jstar : nat; a : R; c : R }.

Definition n (D : data) : nat := (d D - 2) * t D.
Definition b (D : data) : R := 1 - c D.
Definition L (D : data) : R := ln (INR (n D)).

(** Side conditions of the book: n >= 2, a row j* exists, 0 < c < 1, a >= 0. *)
Definition valid (D : data) : Prop :=
  (2 <= n D)%nat /\ (jstar D < n D)%nat /\ 0 < c D < 1 /\ 0 <= a D.

(** Entry (i, k) of A: the mark, t stacked copies of an identity, the constant. *)
Definition A (D : data) (i k : nat) : R :=
  if Nat.eqb k 0 then (if Nat.eqb i (jstar D) then a D * sqrt (L D) else 0)
  else if Nat.eqb k (d D - 1) then c D * sqrt (L D)
  else if Nat.eqb (k - 1) (i mod (d D - 2)) then b D * sqrt (L D) else 0.

(** X is all ones. *)
Definition X (p q : nat) : R := 1.

(** ** Self-attention  [def-self-attention] *)

Inductive kernel := Softmax | Linear.

(** The Kronecker product of A with A, and the vector of X  [def-kronecker, def-vec].
    The n rows from j n on are block j. *)
Definition kron (D : data) (r s : nat) : R :=
  A D (r / n D) (s / d D) * A D (r mod n D) (s mod d D).
Definition vec_X (D : data) (s : nat) : R := X (s / d D) (s mod d D).

(** Entry i of (block j of A (x) A) vec(X): the score of token i for token j. *)
Definition score (D : data) (j i : nat) : R :=
  Sum (d D * d D) (fun s => kron D (j * n D + i) s * vec_X D s).

Definition u (K : kernel) (D : data) (j i : nat) : R :=
  match K with Softmax => exp (score D j i) | Linear => score D j i end.

Definition alpha (K : kernel) (D : data) (j : nat) : R := Sum (n D) (u K D j).

Definition f (K : kernel) (D : data) (j i : nat) : R := u K D j i / alpha K D j.

(** Entry k of the output c_j. *)
Definition out (K : kernel) (D : data) (j k : nat) : R :=
  Sum (n D) (fun i => A D i k * f K D j i).

(** ** The network  [def-threshold, def-shifted-relu, def-network-tokens] *)

Definition dot (m : nat) (v : nat -> R) (y : list R) : R :=
  Sum m (fun k => v k * nth k y 0).

Definition tau (D : data) : R := (c D + 1 / 10) * sqrt (L D).

Definition relu (z : R) : R := Rmax z 0.
Definition relu_from (s z : R) : R := Rmax (z - s) 0.

(** ys is the list of the m columns of signs. *)
Definition network (K : kernel) (D : data) (ys : list (list R)) : R :=
  relu (Sum (n D) (fun j =>
    fold_right (fun y s => relu_from (tau D) (dot (d D) (out K D j) y) + s) 0 ys)).

(** ** Random signs  [def-random-signs] *)

(** All 2^m sign vectors of length m, each once (see [all_signs_spec]). *)
Fixpoint all_signs (m : nat) : list (list R) :=
  match m with
  | O => nil :: nil
  | S k => map (cons 1) (all_signs k) ++ map (cons (-1)) (all_signs k)
  end.

(** All lists of m columns of signs, each column of length k. *)
Fixpoint all_columns (m k : nat) : list (list (list R)) :=
  match m with
  | O => nil :: nil
  | S l => flat_map (fun y => map (cons y) (all_columns l k)) (all_signs k)
  end.

(** The mean of F over a list, and the share of a list where x > s. *)
Definition mean {T : Type} (l : list T) (F : T -> R) : R :=
  fold_right (fun y s => F y + s) 0 l / INR (length l).

Definition above (s x : R) : R := if Rlt_dec s x then 1 else 0.

(** P[F fires] with m columns: the share of all sign matrices with F > 0. *)
Definition P_fires (K : kernel) (D : data) (m : nat) : R :=
  mean (all_columns m (d D)) (fun ys => above 0 (network K D ys)).

(** The probability pi that one column exceeds tau in row j. *)
Definition P_row (K : kernel) (D : data) (j : nat) : R :=
  mean (all_signs (d D)) (fun y => above (tau D) (dot (d D) (out K D j) y)).

(** The probability pi that one column exceeds tau in some row: one column fires. *)
Definition P_column (K : kernel) (D : data) : R :=
  mean (all_signs (d D)) (fun y => above 0 (network K D (y :: nil))).

(** ** One query  [def-query-data, def-softmax-weights, def-linear-weights,
    def-network-one-query].  A score vector v stands for A x: by
    [query-data-matrices] every v comes from a matrix. *)

Definition V0 (l h : R) (n : nat) (v : nat -> R) : Prop :=
  forall i, (i < n)%nat -> l <= v i <= h.

Definition V1 (l h kappa : R) (n : nat) (v : nat -> R) (j : nat) : Prop :=
  (j < n)%nat /\ v j = kappa * ln (INR n) /\
  forall i, (i < n)%nat -> i <> j -> l <= v i <= h.

Definition query_u (k : kernel) (v : nat -> R) (i : nat) : R :=
  match k with Softmax => exp (v i) | Linear => v i end.

Definition query_f (k : kernel) (n : nat) (v : nat -> R) (i : nat) : R :=
  query_u k v i / Sum n (query_u k v).

Definition query_network (k : kernel) (n : nat) (tau : R) (v : nat -> R) (ys : list (list R)) : R :=
  relu (fold_right (fun y s => relu_from tau (dot n (query_f k n v) y) + s) 0 ys).

Definition query_fires (k : kernel) (n m : nat) (tau : R) (v : nat -> R) : R :=
  mean (all_columns m n) (fun ys => above 0 (query_network k n tau v ys)).
