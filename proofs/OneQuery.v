(** * One query.

    Proved here: what normalising does; Lemma 4.1 and its corollaries; one random
    column; the one-query theorem, and that softmax tells V_0 and V_1 apart while
    linear attention does not. *)

From Coq Require Import Reals List Arith Lra Lia Psatz.
From Coquelicot Require Import Coquelicot.
Require Import Model Signs Rows Attention Golden.
Import ListNotations.
Open Scope R_scope.

(** ** What normalising does *)

Section Positive.

Variables (u : R -> R) (n : nat) (v : vector).
Hypothesis Hn : (0 < n)%nat.
Hypothesis Hu : forall i, (i < n)%nat -> 0 < u (v i).

Lemma alpha_pos : 0 < Sum n (fun i => u (v i)).
Proof. apply Sum_pos; assumption. Qed.

Lemma weight_pos i : (i < n)%nat -> 0 < normalised u n v i.
Proof. intros Hi. apply Rdiv_lt_0_compat; [auto | apply alpha_pos]. Qed.

Lemma weight_sum : Sum n (normalised u n v) = 1.
Proof.
  assert (H := alpha_pos).
  rewrite (Sum_ext _ _ (fun i => / Sum n (fun i => u (v i)) * u (v i)))
    by (intros; unfold normalised; field; lra).
  rewrite Sum_scal. field. lra.
Qed.

Lemma weight_ratio i i' : (i < n)%nat -> (i' < n)%nat ->
  normalised u n v i / normalised u n v i' = u (v i) / u (v i').
Proof.
  intros Hi Hi'. assert (H := alpha_pos). assert (H' := Hu i' Hi'). unfold normalised. field. lra.
Qed.

End Positive.

(** [normaliser-keeps-ratios] *)
Theorem normaliser_keeps_ratios n v : (0 < n)%nat -> (forall i, (i < n)%nat -> 0 < v i) ->
  Sum n (softmax n v) = 1 /\ Sum n (linear n v) = 1 /\
  forall i i', (i < n)%nat -> (i' < n)%nat ->
    softmax n v i / softmax n v i' = exp (v i) / exp (v i') /\
    linear n v i / linear n v i' = v i / v i'.
Proof.
  intros Hn Hv. assert (Hs : forall i, (i < n)%nat -> 0 < exp (v i)) by (intros; apply exp_pos).
  split; [apply (weight_sum exp); assumption | split; [apply (weight_sum (fun s => s)); assumption|]].
  intros i i' Hi Hi'. split; [apply weight_ratio | apply (weight_ratio (fun s => s))]; assumption.
Qed.

(** [softmax-ignores-shifts] *)
Theorem softmax_ignores_shifts n v s i : (i < n)%nat ->
  softmax n (fun k => v k + s) i = softmax n v i.
Proof.
  intros Hi. unfold softmax, normalised. assert (P := exp_pos s).
  assert (Q : 0 < Sum n (fun k => exp (v k))) by (apply Sum_pos; [lia | intros; apply exp_pos]).
  rewrite (Sum_ext n _ (fun k => exp s * exp (v k))) by (intros; rewrite exp_plus; ring).
  rewrite Sum_scal, exp_plus. field. lra.
Qed.

(** [linear-ignores-scale] *)
Theorem linear_ignores_scale n v s i : Sum n v <> 0 -> s <> 0 ->
  linear n (fun k => s * v k) i = linear n v i.
Proof.
  intros Hv Hs. unfold linear, normalised. rewrite Sum_scal.
  change (Sum n (fun k => v k)) with (Sum n v). field. split; assumption.
Qed.

(** [query-data-matrices] *)
Theorem query_data_matrices d (v x : vector) (A_perp : matrix) :
  (exists k, (k < d)%nat /\ x k <> 0) -> (forall i, times d A_perp x i = 0) ->
  let A := fun i k => v i * x k / Sum d (fun k => x k ^ 2) + A_perp i k in
  forall i, times d A x i = v i.
Proof.
  intros (k & Hk & Hx) HA A i. assert (P := Sum_squares_pos d x k Hk Hx).
  unfold times, A. set (s := Sum d (fun k => x k ^ 2)) in *.
  rewrite (Sum_ext d _ (fun k => v i / s * x k ^ 2 + A_perp i k * x k)) by (intros; field; lra).
  rewrite Sum_plus, Sum_scal. fold s. fold (times d A_perp x i). rewrite HA. field. lra.
Qed.

(** [norm-at-most-max] *)
Theorem norm_at_most_max n (f : vector) x :
  (forall i, (i < n)%nat -> 0 <= f i) -> Sum n f = 1 -> (forall i, (i < n)%nat -> f i <= x) ->
  Sum n (fun i => f i ^ 2) <= x.
Proof.
  intros H0 H1 Hx. apply Rle_trans with (Sum n (fun i => x * f i)).
  - apply Sum_le. intros i Hi. assert (A := H0 i Hi). assert (B := Hx i Hi). simpl. nra.
  - rewrite Sum_scal, H1. lra.
Qed.

(** ** One column of signs *)

(** A weight above (1 + s)/2 decides with its sign alone: f >= 0, of sum 1. *)
Section Decides.

Variables (n : nat) (f : vector) (j : nat).
Hypothesis F0 : forall i, (i < n)%nat -> 0 <= f i.
Hypothesis F1 : Sum n f = 1.
Hypothesis Hj : (j < n)%nat.

Lemma dot_sign y : In y (all_signs n) ->
  (nth j y 0 = 1 -> 2 * f j - 1 <= dot n f y) /\ (nth j y 0 = -1 -> dot n f y <= 1 - 2 * f j).
Proof.
  intros Hy.
  assert (Ones : forall x, Sum n (fun i => if Nat.eqb i j then x else 0) = x).
  { intros x. rewrite (Sum_one n j _ 0); [rewrite Nat.eqb_refl; ring | assumption |].
    intros i _ Hi. replace (Nat.eqb i j) with false by (symmetry; apply Nat.eqb_neq; assumption). reflexivity. }
  split; intros E.
  - assert (H : 0 <= Sum n (fun i => (f i + f i * nth i y 0) + (if Nat.eqb i j then - (2 * f j) else 0))).
    { apply Sum_nonneg. intros i Hi. assert (P := F0 i Hi). destruct (Nat.eqb i j) eqn:Ei.
      - apply Nat.eqb_eq in Ei. subst i. rewrite E. lra.
      - destruct (sign_nth n y i Hy Hi) as [-> | ->]; lra. }
    rewrite !Sum_plus, F1, Ones in H. unfold dot. lra.
  - assert (H : 0 <= Sum n (fun i => (f i + -1 * (f i * nth i y 0)) + (if Nat.eqb i j then - (2 * f j) else 0))).
    { apply Sum_nonneg. intros i Hi. assert (P := F0 i Hi). destruct (Nat.eqb i j) eqn:Ei.
      - apply Nat.eqb_eq in Ei. subst i. rewrite E. lra.
      - destruct (sign_nth n y i Hy Hi) as [-> | ->]; lra. }
    rewrite !Sum_plus, F1, Ones, Sum_scal in H. unfold dot. lra.
Qed.

Lemma mean_sign : mean (all_signs n) (fun y => 1 / 2 + 1 / 2 * nth j y 0) = 1 / 2.
Proof.
  assert (Z : mean (all_signs n) (fun y => nth j y 0) = 0).
  { assert (H := mean_signs_opp n (fun y => nth j y 0)). cbv beta in H.
    rewrite (mean_ext _ (fun y => nth j (map Ropp y) 0) (fun y => -1 * nth j y 0)) in H.
    - rewrite mean_scal in H. lra.
    - intros y _. replace 0 with (- 0) at 1 by ring. rewrite (map_nth Ropp). ring. }
  rewrite mean_plus, mean_const, mean_scal, Z by apply all_signs_not_nil. lra.
Qed.

Lemma reaches_half s : s <= 2 * f j - 1 ->
  1 / 2 <= mean (all_signs n) (fun y => reaches s (dot n f y)).
Proof.
  intros Hs. rewrite <- mean_sign. apply mean_le; [apply all_signs_not_nil|]. intros y Hy.
  destruct (dot_sign y Hy) as (H & _). unfold reaches.
  destruct (sign_nth n y j Hy Hj) as [E|E]; rewrite E in *; destruct (Rle_dec _ _);
    try (assert (H' := H eq_refl)); lra.
Qed.

Lemma sign_decides tau y : 1 - 2 * f j <= tau < 2 * f j - 1 -> In y (all_signs n) ->
  (tau < dot n f y <-> nth j y 0 = 1).
Proof.
  intros [H1 H2] Hy. destruct (dot_sign y Hy) as (P & M).
  destruct (sign_nth n y j Hy Hj) as [E|E]; rewrite E in *;
    try (assert (P' := P eq_refl)); try (assert (M' := M eq_refl)); split; lra.
Qed.

End Decides.

(** ** The network *)

Definition query_column (tau : R) (K : kernel) (n : nat) (v : vector) : R :=
  mean (all_signs n) (fun y => above tau (dot n (K n v) y)).

Lemma query_fires_eq tau K n m v :
  query_P_fires tau K n m v = 1 - (1 - query_column tau K n v) ^ m.
Proof.
  unfold query_P_fires, query_F, query_column.
  rewrite (network_fires n (fun y => shifted_relu tau (dot n (K n v) y)))
    by (intros; apply shifted_relu_nonneg).
  do 3 f_equal. apply mean_ext. intros; apply above_shifted_relu.
Qed.

Lemma query_column_range tau K n v : 0 <= query_column tau K n v <= 1.
Proof.
  split; [apply mean_signs_nonneg | apply mean_signs_le_1]; intros; apply above_range.
Qed.

(** [fires-iff-a-column-exceeds] *)
Theorem fires_iff_a_column_exceeds tau K n v :
  (forall Y, 0 < query_F tau K n v Y <-> exists y, In y Y /\ tau < dot n (K n v) y) /\
  let pi := mean (all_signs n) (fun y => above tau (dot n (K n v) y)) in
  forall m, query_P_fires tau K n m v = 1 - (1 - pi) ^ m /\ query_P_fires tau K n m v <= INR m * pi.
Proof.
  split.
  - intros Y. unfold query_F.
    rewrite (sum_fires_iff (fun y => shifted_relu tau (dot n (K n v) y)))
      by (intros; apply shifted_relu_nonneg).
    split; intros (y & Hy & H); exists y; (split; [assumption|]);
      unfold shifted_relu, Rmax in *; destruct (Rle_dec _ _); lra.
  - intros pi m. split; [apply query_fires_eq|]. rewrite query_fires_eq.
    apply power_union, query_column_range.
Qed.

(** [spike-column-half]; that f_j > 1/2 is in the bounds of tau. *)
Theorem spike_column_half tau (K : kernel) n v j :
  let f := K n v in
  (forall i, (i < n)%nat -> 0 <= f i) -> Sum n f = 1 -> (j < n)%nat ->
  1 - 2 * f j <= tau < 2 * f j - 1 ->
  mean (all_signs n) (fun y => above tau (dot n f y)) = 1 / 2 /\
  (forall y, In y (all_signs n) -> (tau < dot n f y <-> nth j y 0 = 1)) /\
  forall m, 1 - query_P_fires tau K n m v = 1 / 2 ^ m.
Proof.
  intros f F0 F1 Hj Ht. assert (S := fun y => sign_decides n f j F0 F1 Hj tau y Ht).
  assert (Half : mean (all_signs n) (fun y => above tau (dot n f y)) = 1 / 2).
  { rewrite <- (mean_sign n j). apply mean_ext. intros y Hy. specialize (S y Hy). unfold above.
    destruct (sign_nth n y j Hy Hj) as [E|E]; rewrite E in *; destruct (Rlt_dec _ _); lra. }
  split; [assumption | split; [assumption|]]. intros m. rewrite query_fires_eq. unfold query_column.
  fold f. rewrite Half. replace (1 - 1 / 2) with (/ 2) by field. rewrite pow_inv. lra.
Qed.

Lemma query_fires_le tau K n m v x : query_column tau K n v <= x -> query_P_fires tau K n m v <= INR m * x.
Proof.
  intros H. destruct (fires_iff_a_column_exceeds tau K n v) as (_ & E).
  apply Rle_trans with (1 := proj2 (E m)). apply Rmult_le_compat_l; [apply pos_INR | exact H].
Qed.

Lemma Sum_ge m x g : (forall i, (i < m)%nat -> x <= g i) -> INR m * x <= Sum m g.
Proof. intros H. rewrite <- Sum_const. apply Sum_le. assumption. Qed.

(** a / b <= a' / b' for 0 <= a <= a' and 0 < b' <= b. *)
Lemma div_le a b a' b' : 0 <= a -> a <= a' -> 0 < b' -> b' <= b -> a / b <= a' / b'.
Proof.
  intros H0 Ha Hb' Hb. unfold Rdiv. apply Rmult_le_compat; try assumption.
  - left; apply Rinv_0_lt_compat; lra.
  - apply Rinv_le_contravar; assumption.
Qed.

Lemma le_1_2 {n} : (2 <= n)%nat -> (1 <= n)%nat.
Proof. lia. Qed.

(** ** Lemma 4.1 *)

Section Data.

Variables (l h kappa : R) (n : nat) (v : vector).
Hypothesis Hl : 0 < l.
Hypothesis Hlh : l <= h.
Hypothesis H1 : (1 <= n)%nat.
Hypothesis Hn : (2 <= n)%nat.
Hypothesis Hkappa : 0 < kappa.

Lemma INR_n1 : 1 <= INR n.
Proof using H1. apply (le_INR 1). assumption. Qed.

Lemma INR_n : 2 <= INR n.
Proof using Hn. apply (le_INR 2). assumption. Qed.

Lemma ln_n_pos : 0 < ln (INR n).
Proof using Hn. assert (H := INR_n). rewrite <- ln_1. apply ln_increasing; lra. Qed.

(** If u lies in [lo, hi] on the scores, the weights lie between lo/hi and hi/lo, over n. *)
Lemma flat_weight u lo hi : 0 < lo -> (forall i, (i < n)%nat -> lo <= u (v i) <= hi) ->
  forall i, (i < n)%nat -> lo / hi / INR n <= normalised u n v i <= hi / lo / INR n.
Proof using H1.
  clear Hn.
  intros Hlo Hu i Hi. assert (N2 := INR_n1).
  assert (S : INR n * lo <= Sum n (fun i => u (v i))) by (apply Sum_ge; intros; apply Hu; assumption).
  assert (S' : Sum n (fun i => u (v i)) <= INR n * hi)
    by (rewrite <- Sum_const; apply Sum_le; intros; apply Hu; assumption).
  assert (U := Hu i Hi). assert (P : 0 < INR n * lo) by (apply Rmult_lt_0_compat; lra).
  unfold normalised. split.
  - replace (lo / hi / INR n) with (lo / (INR n * hi)) by (field; lra). apply div_le; lra.
  - replace (hi / lo / INR n) with (hi / (INR n * lo)) by (field; lra). apply div_le; lra.
Qed.

(** [lemma-4-1-softmax-flat] *)
Theorem softmax_flat : V0 l h n v -> forall i, (i < n)%nat ->
  exp (l - h) / INR n <= softmax n v i <= exp (h - l) / INR n.
Proof using H1.
  clear Hn.
  intros HV i Hi. unfold Rminus at 1 2. rewrite !exp_plus, !exp_Ropp.
  apply (flat_weight exp); try assumption; [apply exp_pos|].
  intros k Hk. split; apply exp_le, HV; assumption.
Qed.

(** [lemma-4-1-linear-flat] *)
Theorem linear_flat : V0 l h n v -> forall i, (i < n)%nat ->
  l / h / INR n <= linear n v i <= h / l / INR n.
Proof using Hl H1.
  clear Hn.
  intros HV. apply (flat_weight (fun s => s)); [assumption|]. intros k Hk. apply HV. assumption.
Qed.

Lemma exp_v_pos : forall i, (i < n)%nat -> 0 < exp (v i).
Proof. intros; apply exp_pos. Qed.

Lemma V0_pos : V0 l h n v -> forall i, (i < n)%nat -> 0 < v i.
Proof using Hl. intros HV i Hi. assert (H := HV i Hi). lra. Qed.

Lemma V1_pos j : V1 l h kappa n v j -> forall i, (i < n)%nat -> 0 < v i.
Proof using Hl Hn Hkappa.
  intros (Hj & Ej & HV) i Hi. destruct (Nat.eq_dec i j) as [->|E].
  - rewrite Ej. apply Rmult_lt_0_compat; [assumption | apply ln_n_pos].
  - assert (H := HV i Hi E). lra.
Qed.

(** A sum over the scores of V_1, bounded on both sides. *)
Lemma spike_sum u j lo hi : V1 l h kappa n v j ->
  (forall s, l <= s <= h -> lo <= u s <= hi) ->
  u (v j) + (INR n - 1) * lo <= Sum n (fun i => u (v i)) <= u (v j) + (INR n - 1) * hi.
Proof.
  intros (Hj & _ & HV) Hu.
  assert (S : forall x, Sum n (fun i => if Nat.eqb i j then u (v j) else x) = u (v j) + (INR n - 1) * x).
  { intros x. rewrite (Sum_one n j _ x); [rewrite Nat.eqb_refl; reflexivity | assumption |].
    intros i _ E. replace (Nat.eqb i j) with false by (symmetry; apply Nat.eqb_neq; assumption). reflexivity. }
  rewrite <- !S. split; apply Sum_le; intros i Hi; destruct (Nat.eqb i j) eqn:E;
    try (apply Nat.eqb_eq in E; subst; lra); apply Nat.eqb_neq in E; apply Hu, HV; assumption.
Qed.

(** exp(kappa log n) = n^kappa. *)
Lemma spike_gain j : V1 l h kappa n v j -> Rpower (INR n) (- kappa) = / exp (v j).
Proof. intros (_ & Ej & _). rewrite Ej, <- exp_Ropp. unfold Rpower. f_equal. ring. Qed.

Lemma spike_weight j x : V1 l h kappa n v j -> 0 < x ->
  1 / (1 + (INR n - 1) * x * Rpower (INR n) (- kappa)) = exp (v j) / (exp (v j) + (INR n - 1) * x).
Proof using H1.
  clear Hn.
  intros HV Hx. rewrite (spike_gain j HV). assert (P := exp_pos (v j)). assert (N2 := INR_n1).
  assert (0 <= (INR n - 1) * x) by (apply Rmult_le_pos; lra). field. lra.
Qed.

Lemma spike_bounds j : V1 l h kappa n v j ->
  1 / (1 + (INR n - 1) * exp h * Rpower (INR n) (- kappa)) <= softmax n v j
  <= 1 / (1 + (INR n - 1) * exp l * Rpower (INR n) (- kappa)).
Proof using H1.
  clear Hn.
  intros HV. assert (N2 := INR_n1).
  destruct (spike_sum exp j (exp l) (exp h) HV) as (S1 & S2); [intros s Hs; split; apply exp_le; lra|].
  rewrite !(spike_weight j) by (try apply exp_pos; assumption).
  assert (P := exp_pos (v j)). assert (Pl := exp_pos l).
  assert (0 <= (INR n - 1) * exp l) by (apply Rmult_le_pos; lra).
  unfold softmax, normalised. split; apply div_le; lra.
Qed.

(** [lemma-4-1-softmax-spike] *)
Theorem softmax_spike j : V1 l h kappa n v j ->
  1 / (1 + (INR n - 1) * exp h * Rpower (INR n) (- kappa)) <= softmax n v j /\
  forall i, (i < n)%nat -> i <> j -> softmax n v i <= exp h * Rpower (INR n) (- kappa).
Proof using H1.
  clear Hn.
  intros HV. split; [apply spike_bounds; assumption|]. intros i Hi E.
  rewrite (spike_gain j HV). apply div_le.
  - left; apply exp_pos.
  - apply exp_le, HV; assumption.
  - apply exp_pos.
  - apply (Sum_ge_one n j (fun i => exp (v i))); [apply HV | intros; left; apply exp_pos].
Qed.

(** [lemma-4-1-linear-spike] *)
Theorem linear_spike j : V1 l h kappa n v j ->
  let L := ln (INR n) in
  linear n v j <= kappa * L / (kappa * L + (INR n - 1) * l) /\
  forall i, (i < n)%nat -> i <> j -> linear n v i <= h / ((INR n - 1) * l + kappa * L).
Proof using Hl Hn Hkappa.
  clear H1.
  intros HV L. assert (N2 := INR_n). assert (HL := ln_n_pos). fold L in HL.
  assert (Pk : 0 < kappa * L) by (apply Rmult_lt_0_compat; assumption).
  assert (Pl : 0 < (INR n - 1) * l) by (apply Rmult_lt_0_compat; lra).
  destruct (spike_sum (fun s => s) j l h HV) as (S & _); [auto|].
  assert (Ej : v j = kappa * L) by apply HV. rewrite Ej in S.
  unfold linear, normalised. split.
  - rewrite Ej. apply div_le; lra.
  - intros i Hi E. assert (B := proj2 (proj2 HV) i Hi E). apply div_le; lra.
Qed.

(** [linear-spike-norm]; the constant of the O is (4 kappa^2 + 2 h^2) / l^2. *)
Theorem linear_spike_norm j : V1 l h kappa n v j ->
  let L := ln (INR n) in
  Sum n (fun i => linear n v i ^ 2) <= N l h kappa n /\
  N l h kappa n <= (kappa * L / ((INR n - 1) * l)) ^ 2 + h ^ 2 / ((INR n - 1) * l ^ 2) /\
  Sum n (fun i => linear n v i ^ 2) <= (4 * kappa ^ 2 + 2 * h ^ 2) / l ^ 2 * (L ^ 2 / INR n ^ 2 + 1 / INR n).
Proof using Hl Hn Hkappa Hlh.
  clear H1.
  intros HV L. assert (N2 := INR_n). assert (HL := ln_n_pos). fold L in HL.
  assert (Pk : 0 < kappa * L) by (apply Rmult_lt_0_compat; assumption).
  assert (Pl : 0 < (INR n - 1) * l) by (apply Rmult_lt_0_compat; lra).
  destruct (linear_spike j HV) as (Fj & Fi). cbv zeta in Fj, Fi. fold L in Fj, Fi.
  assert (P := weight_pos (fun s => s) n v ltac:(lia) (V1_pos j HV)).
  change (forall i, (i < n)%nat -> 0 < linear n v i) in P.
  set (s := kappa * L + (INR n - 1) * l) in *. assert (Hs : 0 < s) by (unfold s; lra).
  replace ((INR n - 1) * l + kappa * L) with s in Fi by (unfold s; ring).
  assert (EN : N l h kappa n = (kappa * L / s) ^ 2 + (INR n - 1) * (h / s) ^ 2)
    by (unfold N; fold L; fold s; field; lra).
  assert (B1 : Sum n (fun i => linear n v i ^ 2) <= N l h kappa n).
  { rewrite EN.
    apply Rle_trans with (Sum n (fun i => if Nat.eqb i j then (kappa * L / s) ^ 2 else (h / s) ^ 2)).
    + apply Sum_le. intros i Hi. assert (Pi := P i Hi). destruct (Nat.eqb i j) eqn:E.
      * apply Nat.eqb_eq in E. subst i. apply pow_incr. lra.
      * apply Nat.eqb_neq in E. assert (B := Fi i Hi E). apply pow_incr. lra.
    + right. rewrite (Sum_one n j _ ((h / s) ^ 2)); [rewrite Nat.eqb_refl; reflexivity | apply HV |].
      intros i _ E. replace (Nat.eqb i j) with false by (symmetry; apply Nat.eqb_neq; assumption). reflexivity. }
  assert (B2 : N l h kappa n <= (kappa * L / ((INR n - 1) * l)) ^ 2 + h ^ 2 / ((INR n - 1) * l ^ 2)).
  { rewrite EN. apply Rplus_le_compat.
    + apply pow_incr. split; [left; apply Rdiv_lt_0_compat; lra | apply div_le; unfold s; lra].
    + replace (h ^ 2 / ((INR n - 1) * l ^ 2)) with ((INR n - 1) * (h / ((INR n - 1) * l)) ^ 2) by (field; lra).
      apply Rmult_le_compat_l; [lra|]. apply pow_incr.
      split; [left; apply Rdiv_lt_0_compat; lra | apply div_le; unfold s; lra]. }
  split; [assumption | split; [assumption|]].
  apply Rle_trans with (1 := B1). apply Rle_trans with (1 := B2). clear B1 B2 EN Fi Fj P HV.
  (* 1 / (n - 1) <= 2 / n *)
  set (x := INR n) in *. assert (Px : 0 < x) by lra. assert (Pl2 : 0 < l ^ 2) by (apply pow_lt; assumption).
  assert (T1 : (kappa * L / ((x - 1) * l)) ^ 2 <= 4 * kappa ^ 2 / l ^ 2 * (L ^ 2 / x ^ 2)).
  { replace (4 * kappa ^ 2 / l ^ 2 * (L ^ 2 / x ^ 2)) with ((kappa * L / (x / 2 * l)) ^ 2) by (field; lra).
    apply pow_incr. split; [left; apply Rdiv_lt_0_compat; lra|].
    apply div_le; [lra | lra | apply Rmult_lt_0_compat; lra | apply Rmult_le_compat_r; lra]. }
  assert (T2 : h ^ 2 / ((x - 1) * l ^ 2) <= 2 * h ^ 2 / l ^ 2 * (1 / x)).
  { replace (2 * h ^ 2 / l ^ 2 * (1 / x)) with (h ^ 2 / (x / 2 * l ^ 2)) by (field; lra).
    apply div_le; [apply pow2_ge_0 | lra | apply Rmult_lt_0_compat; lra | apply Rmult_le_compat_r; lra]. }
  assert (P1 : 0 <= 2 * h ^ 2 / l ^ 2 * (L ^ 2 / x ^ 2)).
  { apply Rmult_le_pos; (apply Rmult_le_pos; [| left; apply Rinv_0_lt_compat; try apply pow_lt; assumption]).
    - apply Rmult_le_pos; [lra | apply pow2_ge_0].
    - apply pow2_ge_0. }
  assert (P2 : 0 <= 4 * kappa ^ 2 / l ^ 2 * (1 / x)).
  { apply Rmult_le_pos; (apply Rmult_le_pos; [| left; apply Rinv_0_lt_compat; try apply pow_lt; assumption]).
    - apply Rmult_le_pos; [lra | apply pow2_ge_0].
    - lra. }
  replace ((4 * kappa ^ 2 + 2 * h ^ 2) / l ^ 2 * (L ^ 2 / x ^ 2 + 1 / x))
    with (4 * kappa ^ 2 / l ^ 2 * (L ^ 2 / x ^ 2) + 2 * h ^ 2 / l ^ 2 * (1 / x)
      + (2 * h ^ 2 / l ^ 2 * (L ^ 2 / x ^ 2) + 4 * kappa ^ 2 / l ^ 2 * (1 / x))) by (field; lra).
  lra.
Qed.

(** *** One column *)

Lemma column_below f s B : 0 < B -> 0 < s -> Sum n (fun i => f i ^ 2) <= B ->
  mean (all_signs n) (fun y => reaches s (dot n f y)) <= exp (- (s ^ 2 / (2 * B))).
Proof. intros HB Hs H. apply hoeffding_le; assumption. Qed.

Lemma softmax_norm : V0 l h n v -> Sum n (fun i => softmax n v i ^ 2) <= exp (h - l) / INR n.
Proof using H1.
  clear Hn.
  intros HV. apply norm_at_most_max.
  - intros i Hi. left. apply (weight_pos exp); [lia | exact exp_v_pos | assumption].
  - apply (weight_sum exp); [lia | exact exp_v_pos].
  - intros i Hi. apply (softmax_flat HV i Hi).
Qed.

Lemma linear_norm : V0 l h n v -> Sum n (fun i => linear n v i ^ 2) <= h / l / INR n.
Proof using Hl Hlh H1.
  clear Hn.
  intros HV. apply norm_at_most_max.
  - intros i Hi. left. apply (weight_pos (fun s => s)); [lia | exact (V0_pos HV) | assumption].
  - apply (weight_sum (fun s => s)); [lia | exact (V0_pos HV)].
  - intros i Hi. apply (linear_flat HV i Hi).
Qed.

(** [softmax-column-flat] *)
Theorem softmax_column_flat s : V0 l h n v -> 0 < s ->
  mean (all_signs n) (fun y => reaches s (dot n (softmax n v) y))
  <= exp (- (s ^ 2 * INR n / (2 * exp (h - l)))).
Proof using Hl Hlh H1.
  clear Hn.
  intros HV Hs. assert (N2 := INR_n1). assert (P := exp_pos (h - l)).
  replace (s ^ 2 * INR n / (2 * exp (h - l))) with (s ^ 2 / (2 * (exp (h - l) / INR n))) by (field; lra).
  apply column_below; [apply Rdiv_lt_0_compat; lra | assumption | apply softmax_norm; assumption].
Qed.

(** [linear-column-flat] *)
Theorem linear_column_flat s : V0 l h n v -> 0 < s ->
  mean (all_signs n) (fun y => reaches s (dot n (linear n v) y))
  <= exp (- (s ^ 2 * INR n * l / (2 * h))).
Proof using Hl Hlh H1.
  clear Hn.
  intros HV Hs. assert (N2 := INR_n1).
  replace (s ^ 2 * INR n * l / (2 * h)) with (s ^ 2 / (2 * (h / l / INR n))) by (field; lra).
  apply column_below; [repeat apply Rdiv_lt_0_compat; lra | assumption | apply linear_norm; assumption].
Qed.

(** [softmax-column-spike] *)
Theorem softmax_column_spike j : V1 l h kappa n v j ->
  1 / 2 <= mean (all_signs n) (fun y => reaches (2 * softmax n v j - 1) (dot n (softmax n v) y)).
Proof using H1.
  clear Hn.
  intros HV. apply (reaches_half n (softmax n v) j); [| | apply HV | lra].
  - intros i Hi. left. apply (weight_pos exp); [lia | exact exp_v_pos | assumption].
  - apply (weight_sum exp); [lia | exact exp_v_pos].
Qed.

Lemma N_pos : 0 < N l h kappa n.
Proof using Hl Hlh Hn Hkappa.
  clear H1.
  assert (N2 := INR_n). assert (HL := ln_n_pos).
  assert (0 < kappa * ln (INR n)) by (apply Rmult_lt_0_compat; assumption).
  assert (0 < (INR n - 1) * l) by (apply Rmult_lt_0_compat; lra).
  apply Rdiv_lt_0_compat; [|apply pow_lt; lra].
  assert (0 < (kappa * ln (INR n)) ^ 2) by (apply pow_lt; assumption).
  assert (0 <= (INR n - 1) * h ^ 2) by (apply Rmult_le_pos; [lra | apply pow2_ge_0]). lra.
Qed.

(** [linear-column-spike] *)
Theorem linear_column_spike j s : V1 l h kappa n v j -> 0 < s ->
  mean (all_signs n) (fun y => reaches s (dot n (linear n v) y)) <= exp (- (s ^ 2 / (2 * N l h kappa n))).
Proof using Hl Hlh Hn Hkappa.
  clear H1.
  intros HV Hs. apply column_below; [apply N_pos | assumption | apply (linear_spike_norm j HV)].
Qed.

Lemma column_reaches tau K x :
  mean (all_signs n) (fun y => reaches tau (dot n (K n v) y)) <= x -> query_column tau K n v <= x.
Proof.
  intros H. apply Rle_trans with (2 := H). apply mean_le; [apply all_signs_not_nil|].
  intros; apply above_le_reaches.
Qed.

End Data.

(** [one-query-theorem]; it holds for every kappa > 0. *)
Theorem one_query_theorem l h kappa tau n m v0 v1 j :
  0 < l -> l <= h -> 0 < kappa -> (2 <= n)%nat -> V0 l h n v0 -> V1 l h kappa n v1 j ->
  0 < tau < 2 * softmax n v1 j - 1 ->
  1 - 1 / 2 ^ m <= query_P_fires tau softmax n m v1 /\
  query_P_fires tau softmax n m v0 <= INR m * exp (- (tau ^ 2 * INR n / (2 * exp (h - l)))) /\
  query_P_fires tau linear n m v0 <= INR m * exp (- (tau ^ 2 * INR n * l / (2 * h))) /\
  query_P_fires tau linear n m v1 <= INR m * exp (- (tau ^ 2 / (2 * N l h kappa n))).
Proof.
  intros Hl Hlh Hk Hn H0 H1 Ht. split; [|split; [|split]].
  - assert (F0 : forall i, (i < n)%nat -> 0 < softmax n v1 i)
      by (intros i Hi; apply (weight_pos exp); [lia | intros; apply exp_pos | assumption]).
    assert (F1 : Sum n (softmax n v1) = 1) by (apply (weight_sum exp); [lia | intros; apply exp_pos]).
    assert (Hf : softmax n v1 j <= 1).
    { rewrite <- F1. apply (Sum_ge_one n j (softmax n v1)); [apply H1 | intros; left; apply F0; assumption]. }
    assert (E : 1 - query_P_fires tau softmax n m v1 = 1 / 2 ^ m); [|lra].
    apply (spike_column_half tau softmax n v1 j); [intros; left; apply F0; assumption | assumption | apply H1 | lra].
  - apply query_fires_le, column_reaches, softmax_column_flat; try assumption; lia || lra.
  - apply query_fires_le, column_reaches, linear_column_flat; try assumption; lia || lra.
  - apply query_fires_le, column_reaches. apply (linear_column_spike l h kappa n v1 Hl Hlh Hn Hk j); [assumption | lra].
Qed.

(** exp(-s/(2 B)) <= 2 B / s: enough for bounds that vanish like 1/n. *)
Lemma exp_le_inv s B : 0 < s -> 0 < B -> exp (- (s / (2 * B))) <= 2 * B / s.
Proof.
  intros Hs HB. assert (P : 0 < s / (2 * B)) by (apply Rdiv_lt_0_compat; lra).
  rewrite exp_Ropp. replace (2 * B / s) with (/ (s / (2 * B))) by (field; lra).
  apply Rinv_le_contravar; [assumption|]. assert (E := exp_ineq1_le (s / (2 * B))). lra.
Qed.

Lemma ln_le_2sqrt x : 1 <= x -> 0 <= ln x <= 2 * sqrt x.
Proof.
  intros Hx. split.
  - destruct Hx as [H| <-]; [|rewrite ln_1; lra]. left. rewrite <- ln_1. apply ln_increasing; lra.
  - assert (P : 0 < sqrt x) by (apply sqrt_lt_R0; lra).
    rewrite <- (sqrt_sqrt x) at 1 by lra. rewrite ln_mult by assumption.
    assert (E := exp_ineq1_le (ln (sqrt x))). rewrite exp_ln in E by assumption. lra.
Qed.

(** 1 - n e^h n^{-kappa} <= f_{j*} <= 1 on V_1, and f_{j*} <= 2 e^{-l} n^{kappa - 1}. *)
Lemma spike_near_1 l h kappa n v j : (2 <= n)%nat -> V1 l h kappa n v j ->
  1 - exp h * Rpower (INR n) (- (kappa - 1)) <= softmax n v j <= 1.
Proof.
  intros Hn HV. assert (N2 := INR_n n Hn).
  assert (E : INR n * Rpower (INR n) (- kappa) = Rpower (INR n) (- (kappa - 1))).
  { rewrite <- (Rpower_1 (INR n)) at 1 by lra. rewrite <- Rpower_plus. f_equal. ring. }
  assert (Ph := exp_pos h). assert (Pr := Rpower_pos (INR n) (- kappa)). split.
  - apply Rle_trans with (2 := proj1 (spike_bounds l h kappa n v (le_1_2 Hn) j HV)). rewrite <- E.
    set (r := Rpower (INR n) (- kappa)) in *. set (z := (INR n - 1) * exp h * r).
    assert (Hz0 : 0 < z) by (unfold z; repeat apply Rmult_lt_0_compat; lra).
    assert (Hz : z <= exp h * (INR n * r)) by (unfold z; assert (0 < exp h * r) by (apply Rmult_lt_0_compat; assumption); nra).
    apply Rmult_le_reg_r with (1 + z); [lra|].
    replace (1 / (1 + z) * (1 + z)) with 1 by (field; lra). nra.
  - rewrite <- (weight_sum exp n v) by first [lia | intros; apply exp_pos].
    apply (Sum_ge_one n j (softmax n v)); [apply HV|]. intros i Hi. left.
    apply (weight_pos exp); [lia | intros; apply exp_pos | assumption].
Qed.

Lemma spike_near_0 l h kappa n v j : (2 <= n)%nat -> V1 l h kappa n v j ->
  0 <= softmax n v j <= 2 / exp l * Rpower (INR n) (- (1 - kappa)).
Proof.
  intros Hn HV. assert (N2 := INR_n n Hn). split.
  - left. apply (weight_pos exp); [lia | intros; apply exp_pos | apply HV].
  - apply Rle_trans with (1 := proj2 (spike_bounds l h kappa n v (le_1_2 Hn) j HV)).
    assert (Pl := exp_pos l). assert (Pr := Rpower_pos (INR n) (- kappa)).
    assert (E : INR n * Rpower (INR n) (- (1 - kappa)) * Rpower (INR n) (- kappa) = 1).
    { rewrite <- (Rpower_1 (INR n)) at 1 by lra. rewrite <- !Rpower_plus.
      replace (1 + - (1 - kappa) + - kappa) with 0 by ring. apply Rpower_O. lra. }
    assert (Ps := Rpower_pos (INR n) (- (1 - kappa))).
    set (r := Rpower (INR n) (- kappa)) in *. set (s := Rpower (INR n) (- (1 - kappa))) in *.
    assert (P : 0 < (INR n - 1) * exp l * r) by (repeat apply Rmult_lt_0_compat; lra).
    apply Rmult_le_reg_r with (1 + (INR n - 1) * exp l * r); [lra|].
    replace (1 / (1 + (INR n - 1) * exp l * r) * (1 + (INR n - 1) * exp l * r)) with 1 by (field; lra).
    replace (2 / exp l * s * (1 + (INR n - 1) * exp l * r))
      with (2 / exp l * s + (2 * (INR n - 1)) * (s * r)) by (field; lra).
    assert (0 < 2 / exp l * s) by (apply Rmult_lt_0_compat; [apply Rdiv_lt_0_compat; lra | assumption]).
    assert (0 < s * r) by (apply Rmult_lt_0_compat; assumption). nra.
Qed.

(** [one-query-separates], stronger: for every m with 2^-m <= delta, and every n
    from some n0 on, whatever the score vectors of V_0 and V_1. *)
Theorem one_query_separates_all_large_n (l h kappa tau delta : R) (m : nat) :
  0 < l -> l <= h -> 1 < kappa -> 0 < tau < 1 -> 0 < delta -> 1 / 2 ^ m <= delta ->
  exists n0 : nat, (2 <= n0)%nat /\ forall n : nat, (n0 <= n)%nat ->
  forall v0 v1 j, V0 l h n v0 -> V1 l h kappa n v1 j ->
    1 - delta <= query_P_fires tau softmax n m v1 /\
    query_P_fires tau softmax n m v0 <= delta /\
    query_P_fires tau linear n m v0 <= delta /\
    query_P_fires tau linear n m v1 <= delta.
Proof.
  intros Hl Hlh Hk Ht Hd Hm.
  set (C1 := exp (h - l)). set (C2 := h / l).
  set (C3 := (16 * kappa * kappa + 2 * h * h) / (l * l)).
  assert (P1 : 0 < C1) by apply exp_pos.
  assert (P2 : 0 < C2) by (apply Rdiv_lt_0_compat; lra).
  assert (P3 : 0 < C3) by (apply Rdiv_lt_0_compat; [|apply Rmult_lt_0_compat; lra]; nra).
  set (C := C1 + C2 + C3).
  (* from M on the weight f_j exceeds (1 + tau)/2 *)
  assert (Lim := lim_power_neg (kappa - 1) ltac:(lra)).
  set (e := (1 - tau) / (2 * exp h)).
  assert (Pe : 0 < e) by (apply Rdiv_lt_0_compat; [lra | assert (H := exp_pos h); lra]).
  apply is_lim_spec in Lim. destruct (Lim (mkposreal e Pe)) as (M & HM). simpl in HM.
  set (x0 := Rmax M (Rmax 2 (INR m * 2 * C / (tau ^ 2 * delta)))).
  destruct (nfloor_ex x0) as (n1 & _ & Hn1).
  { apply Rle_trans with 2; [lra|]. unfold x0. apply Rle_trans with (2 := Rmax_r _ _). apply Rmax_l. }
  exists (S n1 + 2)%nat. split; [lia|]. intros n Hn v0 v1 j HV0 HV1.
  assert (H2 : (2 <= n)%nat) by lia.
  assert (Hx0 : x0 < INR n).
  { apply Rlt_le_trans with (1 := Hn1). rewrite <- S_INR. apply le_INR. lia. }
  assert (HnM : M < INR n) by (apply Rle_lt_trans with (2 := Hx0); apply Rmax_l).
  assert (N2 := INR_n n H2).
  assert (HnC : INR m * 2 * C / (tau ^ 2 * delta) <= INR n).
  { left. apply Rle_lt_trans with (2 := Hx0). unfold x0.
    apply Rle_trans with (2 := Rmax_r _ _). apply Rmax_r. }
  assert (Hm0 := pos_INR m).
  assert (Tt : 0 < tau ^ 2) by (apply pow_lt; lra).
  assert (Small : forall B, 0 < B -> B <= C / INR n -> INR m * exp (- (tau ^ 2 / (2 * B))) <= delta).
  { intros B HB HBC. apply Rle_trans with (INR m * (2 * (C / INR n) / tau ^ 2)).
    - apply Rmult_le_compat_l; [assumption|]. apply Rle_trans with (1 := exp_le_inv _ B Tt HB).
      apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; assumption | lra].
    - apply Rmult_le_reg_r with (INR n * tau ^ 2); [apply Rmult_lt_0_compat; lra|].
      replace (INR m * (2 * (C / INR n) / tau ^ 2) * (INR n * tau ^ 2))
        with (INR m * 2 * C / (tau ^ 2 * delta) * (tau ^ 2 * delta)) by (field; lra).
      replace (delta * (INR n * tau ^ 2)) with (INR n * (tau ^ 2 * delta)) by ring.
      apply Rmult_le_compat_r; [|assumption]. left. apply Rmult_lt_0_compat; assumption. }
  assert (CN : forall c', c' <= C -> c' / INR n <= C / INR n).
  { intros c' H. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra | assumption]. }
  assert (F : 0 < tau < 2 * softmax n v1 j - 1).
  { split; [lra|]. assert (S := proj1 (spike_near_1 l h kappa n v1 j H2 HV1)).
    assert (B := HM (INR n) HnM). rewrite Rminus_0_r in B.
    assert (Pr := Rpower_pos (INR n) (- (kappa - 1))). rewrite Rabs_right in B by lra.
    assert (Ph := exp_pos h).
    assert (exp h * Rpower (INR n) (- (kappa - 1)) < (1 - tau) / 2); [|lra].
    replace ((1 - tau) / 2) with (exp h * e) by (unfold e; field; lra).
    apply Rmult_lt_compat_l; assumption. }
  destruct (one_query_theorem l h kappa tau n m v0 v1 j Hl Hlh ltac:(lra) H2 HV0 HV1 F)
    as (T1 & T2 & T3 & T4).
  split; [lra | split; [|split]].
  - apply Rle_trans with (1 := T2).
    replace (tau ^ 2 * INR n / (2 * exp (h - l))) with (tau ^ 2 / (2 * (C1 / INR n)))
      by (unfold C1 in *; field; lra).
    apply Small; [apply Rdiv_lt_0_compat; lra | apply CN; unfold C; lra].
  - apply Rle_trans with (1 := T3).
    replace (tau ^ 2 * INR n * l / (2 * h)) with (tau ^ 2 / (2 * (C2 / INR n))) by (unfold C2; field; lra).
    apply Small; [apply Rdiv_lt_0_compat; lra | apply CN; unfold C; lra].
  - apply Rle_trans with (1 := T4). apply Small; [apply N_pos; lra || assumption|].
    apply Rle_trans with (C3 / INR n); [|apply CN; unfold C; lra].
    apply Rle_trans with (1 := proj1 (proj2 (linear_spike_norm l h kappa n v1 Hl Hlh H2 ltac:(lra) j HV1))).
    destruct (ln_le_2sqrt (INR n) ltac:(lra)) as [L0 L1].
    assert (Sq := sqrt_sqrt (INR n) ltac:(lra)). set (x := INR n) in *.
    replace (C3 / x) with ((kappa * (2 * sqrt x) / (x / 2 * l)) ^ 2 + h ^ 2 / (x / 2 * l ^ 2)).
    + apply Rplus_le_compat.
      * apply pow_incr. split.
        -- apply Rmult_le_pos; [apply Rmult_le_pos; lra | left; apply Rinv_0_lt_compat, Rmult_lt_0_compat; lra].
        -- apply div_le; [apply Rmult_le_pos; lra | apply Rmult_le_compat_l; lra |
             apply Rmult_lt_0_compat; lra | apply Rmult_le_compat_r; lra].
      * apply div_le; [apply pow2_ge_0 | lra | apply Rmult_lt_0_compat; [lra | apply pow_lt; lra] |
          apply Rmult_le_compat_r; [apply pow2_ge_0 | lra]].
    + unfold C3. replace ((kappa * (2 * sqrt x) / (x / 2 * l)) ^ 2)
        with (16 * kappa ^ 2 * (sqrt x * sqrt x) / (x ^ 2 * l ^ 2)) by (field; lra).
      rewrite Sq. field. lra.
Qed.

(** [one-query-separates]: m is log_2 (1/delta), rounded up. *)
Theorem one_query_separates (l h kappa tau delta : R) (m : nat) :
  0 < l -> l <= h -> 1 < kappa -> 0 < tau < 1 -> 0 < delta < 1 ->
  INR m - 1 < ln (1 / delta) / ln 2 <= INR m ->
  exists n : nat, (2 <= n)%nat /\
  forall v0 v1 j, V0 l h n v0 -> V1 l h kappa n v1 j ->
    1 - delta <= query_P_fires tau softmax n m v1 /\
    query_P_fires tau softmax n m v0 <= delta /\
    query_P_fires tau linear n m v0 <= delta /\
    query_P_fires tau linear n m v1 <= delta.
Proof.
  intros Hl Hlh Hk Ht Hd [_ Hm].
  assert (H : 1 / 2 ^ m <= delta).
  { assert (L2 : 0 < ln 2) by (rewrite <- ln_1; apply ln_increasing; lra).
    assert (Hm' : ln (1 / delta) <= INR m * ln 2).
    { apply Rmult_le_reg_r with (/ ln 2); [apply Rinv_0_lt_compat; assumption|].
      rewrite Rmult_assoc, Rinv_r, Rmult_1_r by lra. exact Hm. }
    apply exp_le in Hm'. rewrite exp_ln in Hm' by (apply Rdiv_lt_0_compat; lra).
    change (exp (INR m * ln 2)) with (Rpower 2 (INR m)) in Hm'. rewrite Rpower_pow in Hm' by lra.
    assert (P : 0 < 2 ^ m) by (apply pow_lt; lra).
    apply Rmult_le_reg_r with (2 ^ m); [assumption|].
    replace (1 / 2 ^ m * 2 ^ m) with 1 by (field; lra).
    apply Rle_trans with (delta * (1 / delta)); [right; field; lra | apply Rmult_le_compat_l; lra]. }
  destruct (one_query_separates_all_large_n l h kappa tau delta m Hl Hlh Hk Ht (proj1 Hd) H) as (n & Hn & E).
  exists n. split; [assumption | exact (E n (le_n n))].
Qed.

(** [softmax-spike-threshold]: here for all l, h and kappa. *)
Theorem softmax_spike_threshold l h kappa :
  (forall n v j, (1 <= n)%nat -> V1 l h kappa n v j ->
    1 / (1 + (INR n - 1) * exp h * Rpower (INR n) (- kappa)) <= softmax n v j /\
    softmax n v j <= 1 / (1 + (INR n - 1) * exp l * Rpower (INR n) (- kappa))) /\
  forall (v : nat -> vector) (j : nat -> nat),
    (forall n, (2 <= n)%nat -> V1 l h kappa n (v n) (j n)) ->
    (1 < kappa -> is_lim_seq (fun n => softmax n (v n) (j n)) 1) /\
    (kappa < 1 -> is_lim_seq (fun n => softmax n (v n) (j n)) 0).
Proof.
  split; [intros n v j Hn HV; exact (spike_bounds l h kappa n v Hn j HV)|]. intros v j HV.
  assert (Lim : forall e, 0 < e -> is_lim_seq (fun n => Rpower (INR n) (- e)) 0).
  { intros e He. apply (is_lim_comp_seq (fun x => Rpower x (- e)) INR p_infty 0).
    - apply lim_power_neg. assumption.
    - exists O. intros; discriminate.
    - apply is_lim_seq_INR. }
  split; intros Hk.
  - apply is_lim_seq_le_le_loc with (u := fun n => 1 - exp h * Rpower (INR n) (- (kappa - 1))) (w := fun _ => 1).
    + exists 2%nat. intros n Hn. apply (spike_near_1 l h); auto.
    + replace (Finite 1) with (Finite (1 - exp h * 0)) by (f_equal; ring).
      apply is_lim_seq_minus'; [apply is_lim_seq_const|].
      apply (is_lim_seq_scal_l _ (exp h) 0). apply Lim. lra.
    + apply is_lim_seq_const.
  - apply is_lim_seq_le_le_loc with (u := fun _ => 0) (w := fun n => 2 / exp l * Rpower (INR n) (- (1 - kappa))).
    + exists 2%nat. intros n Hn. apply (spike_near_0 l h); auto.
    + apply is_lim_seq_const.
    + replace (Finite 0) with (Rbar_mult (2 / exp l) 0) by (simpl; f_equal; ring).
      apply is_lim_seq_scal_l. apply Lim. lra.
Qed.

(** ** Corollaries of Lemma 4.1 *)

(** [certified-flat-weights]: here for every Lambda = e^{h-l} or h/l. *)
Theorem certified_flat_weights l h n v i : 0 < l -> l <= h -> (2 <= n)%nat -> V0 l h n v -> (i < n)%nat ->
  (let Lambda := exp (h - l) in 1 / (Lambda * INR n) <= softmax n v i <= Lambda / INR n) /\
  (let Lambda := h / l in 1 / (Lambda * INR n) <= linear n v i <= Lambda / INR n).
Proof.
  intros Hl Hlh Hn HV Hi. assert (N2 := INR_n n Hn).
  assert (S := softmax_flat l h n v (le_1_2 Hn) HV i Hi).
  assert (T := linear_flat l h n v Hl (le_1_2 Hn) HV i Hi). split; cbv zeta.
  - replace (1 / (exp (h - l) * INR n)) with (exp (l - h) / INR n); [assumption|].
    replace (l - h) with (- (h - l)) by ring. rewrite exp_Ropp. assert (P := exp_pos (h - l)). field. lra.
  - replace (1 / (h / l * INR n)) with (l / h / INR n) by (field; lra). assumption.
Qed.

Lemma factor_two_interval x Lambda n : 2 <= n -> 1 <= Lambda <= 2 ->
  1 / (Lambda * n) <= x <= Lambda / n -> 1 / (2 * n) <= x <= 2 / n.
Proof.
  intros Hn HL [H1 H2]. split.
  - apply Rle_trans with (2 := H1). apply div_le; nra.
  - apply Rle_trans with (1 := H2). apply div_le; lra.
Qed.

Lemma Lambda_softmax l h : l <= h -> h - l <= ln 2 -> 1 <= exp (h - l) <= 2.
Proof.
  intros H1 H2. split.
  - rewrite <- exp_0. apply exp_le. lra.
  - apply exp_le in H2. rewrite exp_ln in H2 by lra. assumption.
Qed.

Lemma Lambda_linear l h : 0 < l -> l <= h -> h <= 2 * l -> 1 <= h / l <= 2.
Proof.
  intros H0 H1 H2. split; apply Rmult_le_reg_r with l; try assumption;
    unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra; lra.
Qed.

(** [softmax-flat-factor-two] *)
Theorem softmax_flat_factor_two l h n v i : 0 < l -> l <= h -> (2 <= n)%nat -> V0 l h n v -> (i < n)%nat ->
  h - l <= ln 2 -> 1 / (2 * INR n) <= softmax n v i <= 2 / INR n.
Proof.
  intros Hl Hlh Hn HV Hi H. apply factor_two_interval with (exp (h - l)).
  - apply INR_n; assumption.
  - apply Lambda_softmax; assumption.
  - apply (certified_flat_weights l h n v i Hl Hlh Hn HV Hi).
Qed.

(** [linear-flat-factor-two] *)
Theorem linear_flat_factor_two l h n v i : 0 < l -> l <= h -> (2 <= n)%nat -> V0 l h n v -> (i < n)%nat ->
  h <= 2 * l -> 1 / (2 * INR n) <= linear n v i <= 2 / INR n.
Proof.
  intros Hl Hlh Hn HV Hi H. apply factor_two_interval with (h / l).
  - apply INR_n; assumption.
  - apply Lambda_linear; assumption.
  - apply (certified_flat_weights l h n v i Hl Hlh Hn HV Hi).
Qed.

(** [certified-factor-two] *)
Theorem certified_factor_two l h n v i : 0 < l -> l <= h -> (2 <= n)%nat -> V0 l h n v -> (i < n)%nat ->
  (exp (h - l) <= 2 -> 1 / (2 * INR n) <= softmax n v i <= 2 / INR n) /\
  (h / l <= 2 -> 1 / (2 * INR n) <= linear n v i <= 2 / INR n).
Proof.
  intros Hl Hlh Hn HV Hi. split; intros H.
  - apply (softmax_flat_factor_two l h); try assumption.
    rewrite <- (ln_exp (h - l)). destruct H as [H|H]; [left; apply ln_increasing; [apply exp_pos | assumption] | rewrite H; lra].
  - apply (linear_flat_factor_two l h); try assumption.
    assert (E : h / l * l = h) by (field; lra). rewrite <- E. apply Rmult_le_compat_r; lra.
Qed.

(** [spike-with-defaults] *)
Theorem spike_with_defaults n v j : (2 <= n)%nat -> V1 (ln (12 / 10)) (ln (14 / 10)) 4 n v j ->
  1 / 2 <= softmax n v j /\ forall i, (i < n)%nat -> i <> j -> linear n v i <= 2 / INR n.
Proof.
  intros Hn HV. assert (N2 := INR_n n Hn). set (x := INR n) in *.
  assert (Hl : 0 < ln (12 / 10)) by (rewrite <- ln_1; apply ln_increasing; lra).
  assert (Hlh : ln (12 / 10) <= ln (14 / 10)) by (left; apply ln_increasing; lra).
  split.
  - apply Rle_trans with (2 := proj1 (softmax_spike _ _ _ _ _ (le_1_2 Hn) j HV)). fold x.
    rewrite exp_ln by lra. rewrite Rpower_Ropp.
    replace (Rpower x 4) with (x ^ 4) by (rewrite <- (Rpower_pow 4 x) by lra; f_equal; simpl; ring).
    assert (P : 0 < x ^ 4) by (apply pow_lt; lra).
    assert (H : (x - 1) * (14 / 10) * / x ^ 4 <= 1).
    { apply Rmult_le_reg_r with (x ^ 4); [assumption|]. rewrite Rmult_assoc, Rinv_l by lra.
      assert (2 <= x ^ 3) by (apply Rle_trans with (2 ^ 3); [simpl; lra | apply pow_incr; lra]).
      replace (x ^ 4) with (x * x ^ 3) by ring. nra. }
    assert (0 <= (x - 1) * (14 / 10) * / x ^ 4)
      by (apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; assumption]).
    apply div_le; lra.
  - intros i Hi E. apply Rle_trans with (1 := proj2 (linear_spike (ln (12 / 10)) (ln (14 / 10)) 4 n v Hl Hn ltac:(lra) j HV) i Hi E).
    fold x. assert (L1 : ln (14 / 10) <= 2 * ln (12 / 10)).
    { replace (2 * ln (12 / 10)) with (ln (12 / 10) + ln (12 / 10)) by ring.
      rewrite <- ln_mult by lra. left. apply ln_increasing; lra. }
    assert (L2 : ln (12 / 10) <= ln x) by (left; apply ln_increasing; lra).
    set (l := ln (12 / 10)) in *. set (h := ln (14 / 10)) in *.
    assert (D : 0 < (x - 1) * l + 4 * ln x).
    { assert (0 < (x - 1) * l) by (apply Rmult_lt_0_compat; lra). lra. }
    apply Rmult_le_reg_r with (x * ((x - 1) * l + 4 * ln x)); [apply Rmult_lt_0_compat; lra|].
    replace (h / ((x - 1) * l + 4 * ln x) * (x * ((x - 1) * l + 4 * ln x))) with (h * x) by (field; lra).
    replace (2 / x * (x * ((x - 1) * l + 4 * ln x))) with (2 * ((x - 1) * l + 4 * ln x)) by (field; lra).
    nra.
Qed.

(** [certified-spike-weights]: here for every 0 < l <= h and kappa > 0. *)
Theorem certified_spike_weights l h kappa n : 0 < l -> l <= h -> 0 < kappa -> (2 <= n)%nat ->
  (forall v j, V1 l h kappa n v j -> forall i, (i < n)%nat -> i <> j ->
    softmax n v i <= exp h * Rpower (INR n) (- kappa) /\
    linear n v i <= h / ((INR n - 1) * l + kappa * ln (INR n))) /\
  forall j, (j < n)%nat ->
    (exists v, V1 l h kappa n v j /\
      softmax n v j = 1 / (1 + (INR n - 1) * exp h * Rpower (INR n) (- kappa))) /\
    (exists v, V1 l h kappa n v j /\
      linear n v j = kappa * ln (INR n) / (kappa * ln (INR n) + (INR n - 1) * l)).
Proof.
  intros Hl Hlh Hk Hn. split.
  - intros v j HV i Hi E. split.
    + apply (proj2 (softmax_spike _ _ _ _ _ (le_1_2 Hn) j HV)); assumption.
    + apply (proj2 (linear_spike _ _ _ _ _ Hl Hn Hk j HV)); assumption.
  - intros j Hj.
    set (corner := fun x : R => fun i => if Nat.eqb i j then kappa * ln (INR n) else x).
    assert (Cj : forall x, corner x j = kappa * ln (INR n)) by (intros; unfold corner; rewrite Nat.eqb_refl; reflexivity).
    assert (CV : forall x, l <= x <= h -> V1 l h kappa n (corner x) j).
    { intros x Hx. split; [assumption | split; [apply Cj|]]. intros i Hi E. unfold corner.
      replace (Nat.eqb i j) with false by (symmetry; apply Nat.eqb_neq; assumption). assumption. }
    assert (CS : forall u x, Sum n (fun i => u (corner x i)) = u (kappa * ln (INR n)) + (INR n - 1) * u x).
    { intros u x. rewrite (Sum_one n j _ (u x)); [rewrite Cj; reflexivity | assumption |].
      intros i _ E. unfold corner.
      replace (Nat.eqb i j) with false by (symmetry; apply Nat.eqb_neq; assumption). reflexivity. }
    split.
    + exists (corner h). split; [apply CV; lra|].
      rewrite (spike_weight l h kappa n (corner h) (le_1_2 Hn) j) by (try apply CV; try apply exp_pos; lra).
      unfold softmax, normalised. rewrite (CS exp), Cj. reflexivity.
    + exists (corner l). split; [apply CV; lra|].
      unfold linear, normalised. rewrite (CS (fun s => s)), Cj. reflexivity.
Qed.

(** [certified-one-column]: here for every Lambda. *)
Theorem certified_one_column l h n v : 0 < l -> l <= h -> (2 <= n)%nat -> V0 l h n v ->
  (let Lambda := exp (h - l) in
   Sum n (fun i => softmax n v i ^ 2) <= Lambda / INR n /\
   forall s, 0 < s -> mean (all_signs n) (fun y => reaches s (dot n (softmax n v) y))
     <= exp (- (s ^ 2 * INR n / (2 * Lambda)))) /\
  (let Lambda := h / l in
   Sum n (fun i => linear n v i ^ 2) <= Lambda / INR n /\
   forall s, 0 < s -> mean (all_signs n) (fun y => reaches s (dot n (linear n v) y))
     <= exp (- (s ^ 2 * INR n / (2 * Lambda)))).
Proof.
  intros Hl Hlh Hn HV. split; cbv zeta; (split; [|intros s Hs]).
  - apply softmax_norm; assumption || lia.
  - apply (softmax_column_flat l h); assumption || lia.
  - apply linear_norm; assumption || lia.
  - replace (s ^ 2 * INR n / (2 * (h / l))) with (s ^ 2 * INR n * l / (2 * h)) by (field; lra).
    apply (linear_column_flat l h); assumption || lia.
Qed.

(** [certified-spiked-column]: here for every 0 < l <= h and kappa > 0. *)
Theorem certified_spiked_column l h kappa n v j : 0 < l -> l <= h -> 0 < kappa -> (2 <= n)%nat ->
  V1 l h kappa n v j ->
  let L := ln (INR n) in
  let N := (kappa * L / (kappa * L + (INR n - 1) * l)) ^ 2
           + (INR n - 1) * (h / ((INR n - 1) * l + kappa * L)) ^ 2 in
  Sum n (fun i => linear n v i ^ 2) <= N /\
  forall s, 0 < s -> mean (all_signs n) (fun y => reaches s (dot n (linear n v) y)) <= exp (- (s ^ 2 / (2 * N))).
Proof.
  intros Hl Hlh Hk Hn HV L N. assert (N2 := INR_n n Hn). assert (HL := ln_n_pos n Hn). fold L in HL.
  assert (0 < kappa * L) by (apply Rmult_lt_0_compat; assumption).
  assert (0 < (INR n - 1) * l) by (apply Rmult_lt_0_compat; lra).
  assert (E : N = Model.N l h kappa n) by (unfold N, Model.N; fold L; field; lra).
  rewrite E. split.
  - apply (linear_spike_norm l h kappa n v Hl Hlh Hn Hk j HV).
  - intros s Hs. apply (linear_column_spike l h kappa n v Hl Hlh Hn Hk j); assumption.
Qed.

(** ** Lemma 4.1 is sharp *)

Section Extremes.

Variables (u : R -> R) (l h : R) (n : nat).
Hypothesis Hl : 0 < u l.
Hypothesis Hu : forall s, l <= s <= h -> u l <= u s <= u h.
Hypothesis Hlh : l <= h.
Hypothesis Hn : (2 <= n)%nat.

Let Lambda := u h / u l.

Lemma one_value_sum i x z : (i < n)%nat -> Sum n (fun k => if Nat.eqb k i then x else z) = x + (INR n - 1) * z.
Proof.
  intros Hi. rewrite (Sum_one n i _ z Hi); [rewrite Nat.eqb_refl; reflexivity|].
  intros k _ Hk. replace (Nat.eqb k i) with false by (symmetry; apply Nat.eqb_neq; assumption). reflexivity.
Qed.

Lemma one_score_sum i x z : (i < n)%nat ->
  Sum n (fun k => u (if Nat.eqb k i then x else z)) = u x + (INR n - 1) * u z.
Proof.
  intros Hi. rewrite <- (one_value_sum i (u x) (u z) Hi). apply Sum_ext. intros k _.
  destruct (Nat.eqb k i); reflexivity.
Qed.

Lemma V0_extremes i : (i < n)%nat ->
  (forall v, V0 l h n v -> 1 / (1 + (INR n - 1) * Lambda) <= normalised u n v i <= Lambda / (Lambda + INR n - 1)) /\
  (exists v, V0 l h n v /\ normalised u n v i = Lambda / (Lambda + INR n - 1)) /\
  (exists v, V0 l h n v /\ normalised u n v i = 1 / (1 + (INR n - 1) * Lambda)) /\
  Lambda / INR n = (1 + (Lambda - 1) / INR n) * (Lambda / (Lambda + INR n - 1)) /\
  1 / (1 + (INR n - 1) * Lambda) = INR n * Lambda / (1 + (INR n - 1) * Lambda) * (1 / Lambda / INR n).
Proof.
  intros Hi. assert (N2 := INR_n n Hn). destruct (Hu h ltac:(lra)) as (Hh & _).
  assert (PL : 1 <= Lambda).
  { unfold Lambda. apply Rmult_le_reg_r with (u l); [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  assert (P1 : 0 < (INR n - 1) * u l) by (apply Rmult_lt_0_compat; lra).
  assert (P2 : 0 < (INR n - 1) * u h) by (apply Rmult_lt_0_compat; lra).
  assert (P3 : 0 < (INR n - 1) * Lambda) by (apply Rmult_lt_0_compat; lra).
  assert (E1 : Lambda / (Lambda + INR n - 1) = u h / (u h + (INR n - 1) * u l)) by (unfold Lambda; field; lra).
  assert (E2 : 1 / (1 + (INR n - 1) * Lambda) = u l / (u l + (INR n - 1) * u h)) by (unfold Lambda; field; lra).
  assert (Corner : forall x z, l <= x <= h -> l <= z <= h -> V0 l h n (fun k => if Nat.eqb k i then x else z))
    by (intros x z Hx Hz k _; destruct (Nat.eqb k i); assumption).
  split; [|split; [|split; [|split]]].
  - intros v HV. rewrite E1, E2. unfold normalised.
    assert (Ui := Hu (v i) (HV i Hi)).
    assert (Lo : u (v i) + (INR n - 1) * u l <= Sum n (fun k => u (v k))).
    { rewrite <- (one_value_sum i (u (v i)) (u l) Hi). apply Sum_le. intros k Hk.
      destruct (Nat.eqb k i) eqn:E; [apply Nat.eqb_eq in E; subst; lra | apply Hu, HV; assumption]. }
    assert (Up : Sum n (fun k => u (v k)) <= u (v i) + (INR n - 1) * u h).
    { rewrite <- (one_value_sum i (u (v i)) (u h) Hi). apply Sum_le. intros k Hk.
      destruct (Nat.eqb k i) eqn:E; [apply Nat.eqb_eq in E; subst; lra | apply Hu, HV; assumption]. }
    set (x := u (v i)) in *. set (S := Sum n (fun k => u (v k))) in *. assert (PS : 0 < S) by lra. split.
    + apply Rmult_le_reg_r with (S * (u l + (INR n - 1) * u h)); [apply Rmult_lt_0_compat; lra|].
      replace (u l / (u l + (INR n - 1) * u h) * (S * (u l + (INR n - 1) * u h))) with (u l * S) by (field; lra).
      replace (x / S * (S * (u l + (INR n - 1) * u h))) with (x * (u l + (INR n - 1) * u h)) by (field; lra).
      apply Rle_trans with (u l * (x + (INR n - 1) * u h)); [apply Rmult_le_compat_l; lra|].
      assert ((INR n - 1) * u h * u l <= (INR n - 1) * u h * x) by (apply Rmult_le_compat_l; lra). lra.
    + apply Rmult_le_reg_r with (S * (u h + (INR n - 1) * u l)); [apply Rmult_lt_0_compat; lra|].
      replace (u h / (u h + (INR n - 1) * u l) * (S * (u h + (INR n - 1) * u l))) with (u h * S) by (field; lra).
      replace (x / S * (S * (u h + (INR n - 1) * u l))) with (x * (u h + (INR n - 1) * u l)) by (field; lra).
      apply Rle_trans with (u h * (x + (INR n - 1) * u l)); [|apply Rmult_le_compat_l; lra].
      assert ((INR n - 1) * u l * x <= (INR n - 1) * u l * u h) by (apply Rmult_le_compat_l; lra). lra.
  - exists (fun k => if Nat.eqb k i then h else l). split; [apply Corner; lra|].
    unfold normalised. rewrite one_score_sum, Nat.eqb_refl, E1 by assumption. reflexivity.
  - exists (fun k => if Nat.eqb k i then l else h). split; [apply Corner; lra|].
    unfold normalised. rewrite one_score_sum, Nat.eqb_refl, E2 by assumption. reflexivity.
  - field. lra.
  - field. lra.
Qed.

(** Besides the spike x one score h, all others l. *)
Lemma spike_and_one j i x : (j < n)%nat -> (i < n)%nat -> i <> j ->
  Sum n (fun k => u (if Nat.eqb k j then x else if Nat.eqb k i then h else l)) = u x + u h + (INR n - 2) * u l.
Proof.
  intros Hj Hi Hij.
  rewrite (Sum_ext n _ (fun k => ((if Nat.eqb k j then u x - u l else 0) + (if Nat.eqb k i then u h - u l else 0)) + u l)).
  - rewrite Sum_plus, Sum_plus, Sum_const.
    rewrite (Sum_one n j (fun k => if Nat.eqb k j then u x - u l else 0) 0 Hj).
    + rewrite (Sum_one n i (fun k => if Nat.eqb k i then u h - u l else 0) 0 Hi).
      * rewrite !Nat.eqb_refl. ring.
      * intros k _ Hk. replace (Nat.eqb k i) with false by (symmetry; apply Nat.eqb_neq; assumption). reflexivity.
    + intros k _ Hk. replace (Nat.eqb k j) with false by (symmetry; apply Nat.eqb_neq; assumption). reflexivity.
  - intros k _. destruct (Nat.eqb k j) eqn:Ej.
    + apply Nat.eqb_eq in Ej. subst k. replace (Nat.eqb j i) with false by (symmetry; apply Nat.eqb_neq; congruence). ring.
    + destruct (Nat.eqb k i); ring.
Qed.

End Extremes.

Lemma either_increases l h : 0 < l ->
  (forall s, l <= s <= h -> exp l <= exp s <= exp h) /\ (forall s, l <= s <= h -> l <= s <= h).
Proof. intros _. split; intros s Hs; [split; apply exp_le; lra | assumption]. Qed.

(** [lemma-4-1-sharp] *)
Theorem lemma_4_1_sharp l h kappa n : 0 < l -> l <= h -> 0 < kappa -> (2 <= n)%nat ->
  let N := INR n in
  let L := ln N in
  (forall K Lambda, K = softmax /\ Lambda = exp (h - l) \/ K = linear /\ Lambda = h / l ->
    forall i, (i < n)%nat ->
    (forall v, V0 l h n v -> 1 / (1 + (N - 1) * Lambda) <= K n v i <= Lambda / (Lambda + N - 1)) /\
    (exists v, V0 l h n v /\ K n v i = Lambda / (Lambda + N - 1)) /\
    (exists v, V0 l h n v /\ K n v i = 1 / (1 + (N - 1) * Lambda)) /\
    Lambda / N = (1 + (Lambda - 1) / N) * (Lambda / (Lambda + N - 1)) /\
    1 / (1 + (N - 1) * Lambda) = N * Lambda / (1 + (N - 1) * Lambda) * (1 / Lambda / N)) /\
  (forall j, (j < n)%nat ->
    (exists v, V1 l h kappa n v j /\ softmax n v j = 1 / (1 + (N - 1) * exp h * Rpower N (- kappa))) /\
    (exists v, V1 l h kappa n v j /\ linear n v j = kappa * L / (kappa * L + (N - 1) * l))) /\
  (forall j i, (j < n)%nat -> (i < n)%nat -> i <> j ->
    let v := fun k => if Nat.eqb k j then kappa * L else if Nat.eqb k i then h else l in
    V1 l h kappa n v j /\
    exp h * Rpower N (- kappa) = (1 + (exp h + (N - 2) * exp l) * Rpower N (- kappa)) * softmax n v i /\
    h / ((N - 1) * l + kappa * L) = (1 + (h - l) / ((N - 1) * l + kappa * L)) * linear n v i).
Proof.
  intros Hl Hlh Hk Hn N L. assert (N2 := INR_n n Hn). fold N in N2.
  destruct (either_increases l h Hl) as (Ie & Il). split; [|split].
  - intros K Lambda [(-> & ->) | (-> & ->)] i Hi.
    + replace (exp (h - l)) with (exp h / exp l)
        by (unfold Rminus; rewrite exp_plus, exp_Ropp; reflexivity).
      exact (V0_extremes exp l h n (exp_pos l) Ie Hlh Hn i Hi).
    + exact (V0_extremes (fun s => s) l h n Hl Il Hlh Hn i Hi).
  - exact (proj2 (certified_spike_weights l h kappa n Hl Hlh Hk Hn)).
  - intros j i Hj Hi Hij v. assert (HL := ln_n_pos n Hn). fold N L in HL.
    assert (Pk : 0 < kappa * L) by (apply Rmult_lt_0_compat; assumption).
    assert (Ei : v i = h).
    { unfold v. replace (Nat.eqb i j) with false by (symmetry; apply Nat.eqb_neq; assumption).
      rewrite Nat.eqb_refl. reflexivity. }
    assert (HV : V1 l h kappa n v j).
    { split; [assumption | split; [unfold v; rewrite Nat.eqb_refl; reflexivity|]]. intros k _ E. unfold v.
      replace (Nat.eqb k j) with false by (symmetry; apply Nat.eqb_neq; assumption). destruct (Nat.eqb k i); lra. }
    split; [assumption|].
    assert (P0 : 0 <= (N - 2) * exp l) by (apply Rmult_le_pos; [lra | left; apply exp_pos]).
    assert (P1 : 0 <= (N - 2) * l) by (apply Rmult_le_pos; lra).
    assert (Ph := exp_pos h). assert (Ps := exp_pos (v j)). split.
    + assert (G := spike_gain l h kappa n v j HV). fold N in G. rewrite G. unfold softmax, normalised.
      assert (S := spike_and_one exp l h n j i (kappa * L) Hj Hi Hij). fold v in S.
      change (Sum n (fun k => exp (v k)) = exp (kappa * L) + exp h + (N - 2) * exp l) in S.
      rewrite S, Ei. assert (Ej : v j = kappa * L) by apply HV. rewrite Ej in *. field. lra.
    + unfold linear, normalised.
      assert (S := spike_and_one (fun s => s) l h n j i (kappa * L) Hj Hi Hij).
      change (Sum n (fun k => v k) = kappa * L + h + (N - 2) * l) in S. rewrite S, Ei.
      assert (0 < (N - 1) * l) by (apply Rmult_lt_0_compat; lra). field. lra.
Qed.

(** [factor-two-breaks] *)
Theorem factor_two_breaks l h n K Lambda : 0 < l -> l <= h -> (2 <= n)%nat ->
  K = softmax /\ Lambda = exp (h - l) \/ K = linear /\ Lambda = h / l -> 2 < Lambda ->
  ((exists v i, (i < n)%nat /\ V0 l h n v /\ K n v i < 1 / (2 * INR n)) <-> INR n > (Lambda - 1) / (Lambda - 2)) /\
  ((exists v i, (i < n)%nat /\ V0 l h n v /\ K n v i > 2 / INR n) <-> INR n > 2 * (Lambda - 1) / (Lambda - 2)).
Proof.
  intros Hl Hlh Hn HK HL. assert (N2 := INR_n n Hn). set (N := INR n) in *.
  assert (X := proj1 (lemma_4_1_sharp l h 1 n Hl Hlh ltac:(lra) Hn) K Lambda HK). fold N in X.
  assert (P : 0 < (N - 1) * Lambda) by (apply Rmult_lt_0_compat; lra).
  assert (E1 : (Lambda - 1) / (Lambda - 2) * (Lambda - 2) = Lambda - 1) by (field; lra).
  assert (E2 : 2 * (Lambda - 1) / (Lambda - 2) * (Lambda - 2) = 2 * (Lambda - 1)) by (field; lra).
  assert (Low : 1 / (1 + (N - 1) * Lambda) < 1 / (2 * N) <-> N > (Lambda - 1) / (Lambda - 2)).
  { assert (F1 : 1 / (1 + (N - 1) * Lambda) * ((1 + (N - 1) * Lambda) * (2 * N)) = 2 * N) by (field; lra).
    assert (F2 : 1 / (2 * N) * ((1 + (N - 1) * Lambda) * (2 * N)) = 1 + (N - 1) * Lambda) by (field; lra).
    assert (PP : 0 < (1 + (N - 1) * Lambda) * (2 * N)) by (apply Rmult_lt_0_compat; lra). split; intros H.
    - apply Rmult_lt_reg_r with (Lambda - 2); [lra|]. rewrite E1.
      apply (Rmult_lt_compat_r _ _ _ PP) in H. rewrite F1, F2 in H. lra.
    - apply (Rmult_lt_compat_r (Lambda - 2)) in H; [|lra]. rewrite E1 in H.
      apply Rmult_lt_reg_r with (1 := PP). rewrite F1, F2. lra. }
  assert (Up : Lambda / (Lambda + N - 1) > 2 / N <-> N > 2 * (Lambda - 1) / (Lambda - 2)).
  { assert (F1 : Lambda / (Lambda + N - 1) * ((Lambda + N - 1) * N) = Lambda * N) by (field; lra).
    assert (F2 : 2 / N * ((Lambda + N - 1) * N) = 2 * (Lambda + N - 1)) by (field; lra).
    assert (PP : 0 < (Lambda + N - 1) * N) by (apply Rmult_lt_0_compat; lra). split; intros H.
    - apply Rmult_lt_reg_r with (Lambda - 2); [lra|]. rewrite E2.
      apply (Rmult_lt_compat_r _ _ _ PP) in H. rewrite F1, F2 in H. lra.
    - apply (Rmult_lt_compat_r (Lambda - 2)) in H; [|lra]. rewrite E2 in H.
      apply Rmult_lt_reg_r with (1 := PP). rewrite F1, F2. lra. }
  split; [rewrite <- Low | rewrite <- Up]; split.
  - intros (v & i & Hi & HV & H). apply Rle_lt_trans with (2 := H). apply (X i Hi). assumption.
  - intros H. destruct (X O ltac:(lia)) as (_ & _ & (v & HV & E) & _). exists v, O.
    split; [lia | split; [assumption | rewrite E; assumption]].
  - intros (v & i & Hi & HV & H). apply Rlt_le_trans with (1 := H). apply (X i Hi). assumption.
  - intros H. destruct (X O ltac:(lia)) as (_ & (v & HV & E) & _). exists v, O.
    split; [lia | split; [assumption | rewrite E; assumption]].
Qed.
