(** * One query: softmax tells V_0 and V_1 apart, linear attention does not. *)

From Coq Require Import Reals List Arith Lra Lia Psatz.
From Coquelicot Require Import Coquelicot.
Require Import Model Signs Attention Column Golden.
Open Scope R_scope.

(** ** The network fires if some column exceeds tau *)

Definition query_column (k : kernel) (n : nat) (tau : R) (v : nat -> R) : R :=
  mean (all_signs n) (fun y => above tau (dot n (query_f k n v) y)).

Lemma relu_from_nonneg s z : 0 <= relu_from s z.
Proof. apply Rmax_r. Qed.

Lemma above_relu_from s z : above 0 (relu_from s z) = above s z.
Proof.
  unfold relu_from, above, Rmax.
  destruct (Rle_dec _ _), (Rlt_dec 0 _), (Rlt_dec _ _); try reflexivity; lra.
Qed.

(** [fires-iff-a-column-exceeds] *)
Theorem query_fires_eq k n m tau v :
  query_fires k n m tau v = 1 - (1 - query_column k n tau v) ^ m.
Proof.
  assert (E : forall ys, above 0 (query_network k n tau v ys)
    = 1 - fold_right (fun y s => (1 - above tau (dot n (query_f k n v) y)) * s) 1 ys).
  { intros ys. unfold query_network. rewrite above_relu. induction ys as [|y ys IH]; simpl.
    - unfold above. destruct (Rlt_dec 0 0); lra.
    - rewrite above_plus.
      + rewrite IH, above_relu_from. ring.
      + apply relu_from_nonneg.
      + clear IH. induction ys; simpl; [lra|].
        apply Rplus_le_le_0_compat; [apply relu_from_nonneg | assumption]. }
  unfold query_fires.
  rewrite (mean_ext _ _ (fun ys => 1 + -1 *
    fold_right (fun y s => (1 - above tau (dot n (query_f k n v) y)) * s) 1 ys))
    by (intros ys _; rewrite E; ring).
  rewrite mean_plus, mean_const, mean_scal by apply all_columns_not_nil.
  assert (C : mean (all_columns m n)
      (fold_right (fun y s => (1 - above tau (dot n (query_f k n v) y)) * s) 1)
      = mean (all_signs n) (fun y => 1 - above tau (dot n (query_f k n v) y)) ^ m)
    by exact (columns_independent m n (fun y => 1 - above tau (dot n (query_f k n v) y))).
  rewrite C. unfold query_column.
  rewrite (mean_ext _ _ (fun y => 1 + -1 * above tau (dot n (query_f k n v) y))) by (intros; ring).
  rewrite mean_plus, mean_const, mean_scal by apply all_signs_not_nil.
  replace (1 + -1 * mean (all_signs n) (fun y => above tau (dot n (query_f k n v) y)))
    with (1 - mean (all_signs n) (fun y => above tau (dot n (query_f k n v) y))) by ring. ring.
Qed.

Lemma query_column_range k n tau v : 0 <= query_column k n tau v <= 1.
Proof.
  split.
  - apply mean_signs_nonneg. intros; apply above_range.
  - unfold query_column. rewrite <- (mean_const (all_signs n) 1) by apply all_signs_not_nil.
    apply mean_le; [apply all_signs_not_nil|]. intros; apply above_range.
Qed.

Lemma power_union x m : 0 <= x <= 1 -> 1 - (1 - x) ^ m <= INR m * x.
Proof.
  intros H. induction m; [simpl; lra|]. rewrite S_INR. simpl pow.
  assert (0 <= (1 - x) ^ m) by (apply pow_le; lra).
  assert ((1 - x) ^ m <= 1) by (rewrite <- (pow1 m) at 2; apply pow_incr; split; lra).
  nra.
Qed.

Lemma query_fires_le k n m tau v : query_fires k n m tau v <= INR m * query_column k n tau v.
Proof. rewrite query_fires_eq. apply power_union, query_column_range. Qed.

(** ** Weights *)

Lemma Sum_pos m g : (0 < m)%nat -> (forall i, (i < m)%nat -> 0 < g i) -> 0 < Sum m g.
Proof.
  intros Hm Hg. destruct m; [lia|]. simpl.
  assert (0 <= Sum m g) by (apply Sum_nonneg; intros; left; apply Hg; lia).
  assert (0 < g m) by (apply Hg; lia). lra.
Qed.

Section Positive.

Variables (k : kernel) (n : nat) (v : nat -> R).
Hypothesis Hn : (0 < n)%nat.
Hypothesis Hu : forall i, (i < n)%nat -> 0 < query_u k v i.

Lemma f_pos i : (i < n)%nat -> 0 < query_f k n v i.
Proof. intros Hi. apply Rdiv_lt_0_compat; [auto | apply Sum_pos; auto]. Qed.

(** [normaliser-keeps-ratios], first half. *)
Theorem f_sum : Sum n (query_f k n v) = 1.
Proof.
  assert (H := Sum_pos n (query_u k v) Hn Hu).
  rewrite (Sum_ext _ _ (fun i => / Sum n (query_u k v) * query_u k v i))
    by (intros; unfold query_f; field; lra).
  rewrite Sum_scal. field. lra.
Qed.

(** [norm-at-most-max] *)
Theorem norm_at_most_max x :
  (forall i, (i < n)%nat -> query_f k n v i <= x) ->
  Sum n (fun i => query_f k n v i * query_f k n v i) <= x.
Proof.
  intros Hx. apply Rle_trans with (Sum n (fun i => x * query_f k n v i)).
  - apply Sum_le. intros i Hi. apply Rmult_le_compat_r; [left; apply f_pos | apply Hx]; assumption.
  - rewrite Sum_scal, f_sum. lra.
Qed.

Lemma norm_pos : 0 < Sum n (fun i => query_f k n v i * query_f k n v i).
Proof. apply Sum_pos; [assumption|]. intros i Hi. assert (H := f_pos i Hi). nra. Qed.

(** One column under a bound N of the squared norm. *)
Lemma column_le tau N :
  0 <= tau -> Sum n (fun i => query_f k n v i * query_f k n v i) <= N ->
  query_column k n tau v <= exp (- (tau * tau / (2 * N))).
Proof.
  intros Ht HN. assert (H := norm_pos).
  apply Rle_trans with (1 := hoeffding n (query_f k n v) tau Ht H).
  set (M := Sum n _) in *.
  assert (tau * tau / (2 * N) <= tau * tau / (2 * M)).
  { unfold Rdiv. apply Rmult_le_compat_l; [nra|]. apply Rinv_le_contravar; lra. }
  destruct (Req_dec (tau * tau / (2 * N)) (tau * tau / (2 * M))) as [->|E]; [lra|].
  left. apply exp_increasing. lra.
Qed.

(** If one weight exceeds (1 + tau)/2, its sign decides half of the time. *)
Lemma column_ge_half j tau :
  (j < n)%nat -> tau < 2 * query_f k n v j - 1 -> 1 / 2 <= query_column k n tau v.
Proof.
  intros Hj Ht.
  assert (Z : mean (all_signs n) (fun y => nth j y 0) = 0).
  { assert (H := mean_signs_opp n (fun y => nth j y 0)). cbv beta in H.
    rewrite (mean_ext _ (fun y => nth j (map Ropp y) 0) (fun y => -1 * nth j y 0)) in H.
    - rewrite mean_scal in H. lra.
    - intros y _. replace 0 with (- 0) at 1 by ring. rewrite (map_nth Ropp). ring. }
  replace (1 / 2) with (mean (all_signs n) (fun y => 1 / 2 + 1 / 2 * nth j y 0)).
  2: { rewrite mean_plus, mean_const, mean_scal, Z by apply all_signs_not_nil. lra. }
  apply mean_le; [apply all_signs_not_nil|]. intros y Hy. apply all_signs_spec in Hy.
  destruct Hy as [Hl HF]. rewrite List.Forall_forall in HF.
  assert (Sg : forall i, (i < n)%nat -> is_sign (nth i y 0)) by (intros; apply HF, nth_In; lia).
  destruct (Sg j Hj) as [E|E].
  2: { rewrite E. assert (R := above_range tau (dot n (query_f k n v) y)). lra. }
  assert (D : 2 * query_f k n v j - 1 <= dot n (query_f k n v) y).
  { assert (H : 0 <= Sum n (fun i => query_f k n v i * (1 + nth i y 0)
                                     - if Nat.eqb i j then 2 * query_f k n v j else 0)).
    { apply Sum_nonneg. intros i Hi. assert (P := f_pos i Hi). destruct (Nat.eqb i j) eqn:Ei.
      - apply Nat.eqb_eq in Ei. subst i. rewrite E. lra.
      - destruct (Sg i Hi) as [-> | ->]; lra. }
    rewrite (Sum_ext _ _ (fun i => (query_f k n v i + query_f k n v i * nth i y 0)
      + -1 * (if Nat.eqb i j then 2 * query_f k n v j else 0))) in H by (intros; ring).
    rewrite !Sum_plus, Sum_scal, f_sum in H.
    rewrite (Sum_one n j (fun i => if Nat.eqb i j then 2 * query_f k n v j else 0) 0) in H; [|assumption|].
    - rewrite Nat.eqb_refl in H. unfold dot. lra.
    - intros i _ Hi. replace (Nat.eqb i j) with false by (symmetry; apply Nat.eqb_neq; assumption).
      reflexivity. }
  rewrite E. unfold above. destruct (Rlt_dec _ _); lra.
Qed.

End Positive.

Lemma exp_le x y : x <= y -> exp x <= exp y.
Proof. intros [H| ->]; [left; apply exp_increasing; assumption | lra]. Qed.

Lemma Sum_ge m x g : (forall i, (i < m)%nat -> x <= g i) -> INR m * x <= Sum m g.
Proof. intros H. rewrite <- Sum_const. apply Sum_le. assumption. Qed.

Section Data.

Variables (l h kappa tau : R) (n : nat) (v : nat -> R).
Hypothesis Hl : 0 < l.
Hypothesis Hlh : l <= h.
Hypothesis Hn : (2 <= n)%nat.
Hypothesis Hkappa : 0 < kappa.
Hypothesis Htau : 0 < tau.

Lemma n_ge_2 : 2 <= INR n.
Proof. apply (le_INR 2). assumption. Qed.

(** [lemma-4-1-softmax-flat] *)
Theorem softmax_flat i : V0 l h n v -> (i < n)%nat ->
  exp (l - h) / INR n <= query_f Softmax n v i <= exp (h - l) / INR n.
Proof.
  intros HV Hi. assert (N2 := n_ge_2).
  assert (S : INR n * exp l <= Sum n (query_u Softmax v))
    by (apply Sum_ge; intros; apply exp_le, HV; assumption).
  assert (S' : Sum n (query_u Softmax v) <= INR n * exp h)
    by (rewrite <- Sum_const; apply Sum_le; intros; apply exp_le, HV; assumption).
  assert (U : exp l <= query_u Softmax v i <= exp h) by (split; apply exp_le, HV; assumption).
  assert (Pl := exp_pos l). assert (Ph := exp_pos h).
  assert (P : 0 < INR n * exp l) by (apply Rmult_lt_0_compat; lra).
  assert (P' : 0 < INR n * exp h) by (apply Rmult_lt_0_compat; lra).
  unfold query_f. split.
  - replace (exp (l - h) / INR n) with (exp l * / (INR n * exp h))
      by (unfold Rminus; rewrite exp_plus, exp_Ropp; field; lra).
    unfold Rdiv. apply Rmult_le_compat; [lra | left; apply Rinv_0_lt_compat; lra | lra |].
    apply Rinv_le_contravar; lra.
  - replace (exp (h - l) / INR n) with (exp h * / (INR n * exp l))
      by (unfold Rminus; rewrite exp_plus, exp_Ropp; field; lra).
    unfold Rdiv. apply Rmult_le_compat; [lra | left; apply Rinv_0_lt_compat; lra | lra |].
    apply Rinv_le_contravar; lra.
Qed.

(** [lemma-4-1-linear-flat] *)
Theorem linear_flat i : V0 l h n v -> (i < n)%nat ->
  l / h / INR n <= query_f Linear n v i <= h / l / INR n.
Proof.
  intros HV Hi. assert (N2 := n_ge_2).
  assert (S : INR n * l <= Sum n (query_u Linear v)) by (apply Sum_ge; intros; apply HV; assumption).
  assert (S' : Sum n (query_u Linear v) <= INR n * h)
    by (rewrite <- Sum_const; apply Sum_le; intros; apply HV; assumption).
  assert (U := HV i Hi).
  assert (P : 0 < INR n * l) by (apply Rmult_lt_0_compat; lra).
  assert (P' : 0 < INR n * h) by (apply Rmult_lt_0_compat; lra).
  unfold query_f. simpl query_u at 1 3. split.
  - replace (l / h / INR n) with (l * / (INR n * h)) by (field; lra).
    unfold Rdiv. apply Rmult_le_compat; [lra | left; apply Rinv_0_lt_compat; lra | lra |].
    apply Rinv_le_contravar; lra.
  - replace (h / l / INR n) with (h * / (INR n * l)) by (field; lra).
    unfold Rdiv. apply Rmult_le_compat; [lra | left; apply Rinv_0_lt_compat; lra | lra |].
    apply Rinv_le_contravar; assumption.
Qed.

Lemma u_pos_V0 k : V0 l h n v -> forall i, (i < n)%nat -> 0 < query_u k v i.
Proof. intros HV i Hi. destruct k; simpl; [apply exp_pos | assert (H := HV i Hi); lra]. Qed.

Lemma ln_n_pos : 0 < ln (INR n).
Proof. assert (H := n_ge_2). rewrite <- ln_1. apply ln_increasing; lra. Qed.

Lemma u_pos_V1 k j : V1 l h kappa n v j -> forall i, (i < n)%nat -> 0 < query_u k v i.
Proof.
  intros (Hj & Ej & HV) i Hi. destruct k; simpl; [apply exp_pos|].
  destruct (Nat.eq_dec i j) as [->|E].
  - rewrite Ej. apply Rmult_lt_0_compat; [assumption | apply ln_n_pos].
  - assert (H := HV i Hi E). lra.
Qed.

(** [lemma-4-1-softmax-spike], first half: the marked weight. *)
Theorem softmax_spike j : V1 l h kappa n v j ->
  1 / (1 + (INR n - 1) * exp h * Rpower (INR n) (- kappa)) <= query_f Softmax n v j.
Proof.
  intros (Hj & Ej & HV). assert (N2 := n_ge_2).
  set (w := fun i => if Nat.eqb i j then exp (v j) else exp h).
  assert (S : Sum n (query_u Softmax v) <= exp (v j) + (INR n - 1) * exp h).
  { apply Rle_trans with (Sum n w).
    - apply Sum_le. intros i Hi. unfold w. simpl. destruct (Nat.eqb i j) eqn:E.
      + apply Nat.eqb_eq in E. subst. lra.
      + apply exp_le, HV; [assumption | apply Nat.eqb_neq; assumption].
    - right. rewrite (Sum_one n j w (exp h)); [unfold w; rewrite Nat.eqb_refl; reflexivity | assumption |].
      intros i _ E. unfold w. replace (Nat.eqb i j) with false by (symmetry; apply Nat.eqb_neq; assumption).
      reflexivity. }
  assert (P : 0 < Sum n (query_u Softmax v)) by (apply Sum_pos; first [lia | intros; apply exp_pos | idtac]).
  assert (R : exp (v j) * Rpower (INR n) (- kappa) = 1).
  { rewrite Ej. unfold Rpower. rewrite <- exp_plus, <- exp_0. f_equal. ring. }
  assert (Pr := Rpower_pos (INR n) (- kappa)). assert (Pv := exp_pos (v j)). assert (Ph := exp_pos h).
  set (r := Rpower (INR n) (- kappa)) in *.
  assert (Pd : 0 < 1 + (INR n - 1) * exp h * r).
  { assert (0 < (INR n - 1) * exp h * r) by (repeat apply Rmult_lt_0_compat; lra). lra. }
  unfold query_f. simpl query_u at 1. set (s := Sum n _) in *.
  apply Rmult_le_reg_r with (s * (1 + (INR n - 1) * exp h * r)); [apply Rmult_lt_0_compat; assumption|].
  replace (1 / (1 + (INR n - 1) * exp h * r) * (s * (1 + (INR n - 1) * exp h * r))) with s by (field; lra).
  replace (exp (v j) / s * (s * (1 + (INR n - 1) * exp h * r)))
    with (exp (v j) + (INR n - 1) * exp h * (exp (v j) * r)) by (field; lra).
  rewrite R. lra.
Qed.

(** [lemma-4-1-softmax-spike], second half: every other weight. *)
Theorem softmax_spike_others j i : V1 l h kappa n v j -> (i < n)%nat -> i <> j ->
  query_f Softmax n v i <= exp h * Rpower (INR n) (- kappa).
Proof.
  intros (Hj & Ej & HV) Hi Hij.
  assert (S : exp (v j) <= Sum n (query_u Softmax v)).
  { set (w := fun i => if Nat.eqb i j then exp (v j) else 0).
    apply Rle_trans with (Sum n w).
    - right. rewrite (Sum_one n j w 0); [unfold w; rewrite Nat.eqb_refl; ring | assumption |].
      intros k _ E. unfold w. replace (Nat.eqb k j) with false by (symmetry; apply Nat.eqb_neq; assumption).
      reflexivity.
    - apply Sum_le. intros k Hk. unfold w. simpl. destruct (Nat.eqb k j) eqn:E.
      + apply Nat.eqb_eq in E. subst. lra.
      + left. apply exp_pos. }
  assert (R : Rpower (INR n) (- kappa) = / exp (v j)).
  { rewrite Ej, <- exp_Ropp. unfold Rpower. f_equal. ring. }
  rewrite R. unfold query_f, Rdiv. apply Rmult_le_compat.
  - left. apply exp_pos.
  - left. apply Rinv_0_lt_compat. assert (P := exp_pos (v j)). lra.
  - apply exp_le, HV; assumption.
  - apply Rinv_le_contravar; [apply exp_pos | assumption].
Qed.

(** [lemma-4-1-linear-spike] *)
Theorem linear_spike j : V1 l h kappa n v j ->
  query_f Linear n v j <= kappa * ln (INR n) / (kappa * ln (INR n) + (INR n - 1) * l) /\
  forall i, (i < n)%nat -> i <> j ->
    query_f Linear n v i <= h / ((INR n - 1) * l + kappa * ln (INR n)).
Proof.
  intros (Hj & Ej & HV). assert (N2 := n_ge_2). assert (HL := ln_n_pos).
  set (k := kappa * ln (INR n)) in *.
  assert (Pk : 0 < k) by (apply Rmult_lt_0_compat; assumption).
  assert (Pl : 0 < (INR n - 1) * l) by (apply Rmult_lt_0_compat; lra).
  set (s := Sum n (query_u Linear v)).
  assert (S : k + (INR n - 1) * l <= s).
  { set (w := fun i => if Nat.eqb i j then k else l).
    apply Rle_trans with (Sum n w).
    - right. rewrite (Sum_one n j w l); [unfold w; rewrite Nat.eqb_refl; reflexivity | assumption |].
      intros i _ E. unfold w. replace (Nat.eqb i j) with false by (symmetry; apply Nat.eqb_neq; assumption).
      reflexivity.
    - apply Sum_le. intros i Hi. unfold w. simpl. destruct (Nat.eqb i j) eqn:E.
      + apply Nat.eqb_eq in E. subst i. rewrite Ej. lra.
      + apply HV; [assumption | apply Nat.eqb_neq; assumption]. }
  split.
  - unfold query_f. fold s. simpl. rewrite Ej.
    unfold Rdiv. apply Rmult_le_compat_l; [lra|]. apply Rinv_le_contravar; lra.
  - intros i Hi E. assert (B := HV i Hi E). unfold query_f. fold s. simpl.
    unfold Rdiv. apply Rmult_le_compat; [lra | left; apply Rinv_0_lt_compat; lra | lra |].
    apply Rinv_le_contravar; lra.
Qed.

(** N of the book. *)
Definition N1 : R :=
  (kappa * ln (INR n) / (kappa * ln (INR n) + (INR n - 1) * l)) ^ 2
  + (INR n - 1) * (h / ((INR n - 1) * l + kappa * ln (INR n))) ^ 2.

(** [linear-spike-norm], first inequality. *)
Theorem linear_spike_norm j : V1 l h kappa n v j ->
  Sum n (fun i => query_f Linear n v i * query_f Linear n v i) <= N1.
Proof.
  intros HV1. destruct (linear_spike j HV1) as (Fj & Fi). assert (Hj : (j < n)%nat) by apply HV1.
  assert (P := f_pos Linear n v ltac:(lia) (u_pos_V1 Linear j HV1)).
  unfold N1. set (x := kappa * ln (INR n) / _) in *. set (z := h / _) in *.
  set (w := fun i => if Nat.eqb i j then x ^ 2 else z ^ 2).
  apply Rle_trans with (Sum n w).
  - apply Sum_le. intros i Hi. assert (Pi := P i Hi). unfold w. destruct (Nat.eqb i j) eqn:E.
    + apply Nat.eqb_eq in E. subst i. simpl. nra.
    + apply Nat.eqb_neq in E. assert (B := Fi i Hi E). simpl. nra.
  - right. rewrite (Sum_one n j w (z ^ 2)); [unfold w; rewrite Nat.eqb_refl; reflexivity | assumption |].
    intros i _ E. unfold w. replace (Nat.eqb i j) with false by (symmetry; apply Nat.eqb_neq; assumption).
    reflexivity.
Qed.

(** The four errors, explicitly. *)

(** [one-query-theorem], first error. *)
Theorem one_query_softmax_V1 j m :
  V1 l h kappa n v j -> tau < 2 * query_f Softmax n v j - 1 ->
  1 - (1 / 2) ^ m <= query_fires Softmax n m tau v.
Proof using Hl Hlh Hn Hkappa Htau.
  intros HV Ht. rewrite query_fires_eq.
  assert (H := column_ge_half Softmax n v ltac:(lia) (u_pos_V1 Softmax j HV) j tau (proj1 HV) Ht).
  assert (R := query_column_range Softmax n tau v).
  assert ((1 - query_column Softmax n tau v) ^ m <= (1 / 2) ^ m) by (apply pow_incr; split; lra). lra.
Qed.

(** [one-query-theorem], second error. *)
Theorem one_query_softmax_V0 m : V0 l h n v ->
  query_fires Softmax n m tau v <= INR m * exp (- (tau * tau / (2 * (exp (h - l) / INR n)))).
Proof using Hl Hlh Hn Htau.
  intros HV. apply Rle_trans with (1 := query_fires_le _ _ _ _ _).
  apply Rmult_le_compat_l; [apply pos_INR|].
  apply (column_le Softmax n v ltac:(lia) (u_pos_V0 Softmax HV)); [lra|].
  apply (norm_at_most_max Softmax n v ltac:(lia) (u_pos_V0 Softmax HV)).
  intros i Hi. apply (softmax_flat i HV Hi).
Qed.

(** [one-query-theorem], third error. *)
Theorem one_query_linear_V0 m : V0 l h n v ->
  query_fires Linear n m tau v <= INR m * exp (- (tau * tau / (2 * (h / l / INR n)))).
Proof using Hl Hlh Hn Htau.
  intros HV. apply Rle_trans with (1 := query_fires_le _ _ _ _ _).
  apply Rmult_le_compat_l; [apply pos_INR|].
  apply (column_le Linear n v ltac:(lia) (u_pos_V0 Linear HV)); [lra|].
  apply (norm_at_most_max Linear n v ltac:(lia) (u_pos_V0 Linear HV)).
  intros i Hi. apply (linear_flat i HV Hi).
Qed.

(** [one-query-theorem], fourth error. *)
Theorem one_query_linear_V1 j m : V1 l h kappa n v j ->
  query_fires Linear n m tau v <= INR m * exp (- (tau * tau / (2 * N1))).
Proof using Hl Hlh Hn Hkappa Htau.
  intros HV. apply Rle_trans with (1 := query_fires_le _ _ _ _ _).
  apply Rmult_le_compat_l; [apply pos_INR|].
  apply (column_le Linear n v ltac:(lia) (u_pos_V1 Linear j HV)); [lra|].
  apply linear_spike_norm with j. assumption.
Qed.

End Data.

(** exp(-s/(2 N)) <= 2 N / s: enough for bounds that vanish like 1/n. *)
Lemma exp_le_inv s N : 0 < s -> 0 < N -> exp (- (s / (2 * N))) <= 2 * N / s.
Proof.
  intros Hs HN. assert (P : 0 < s / (2 * N)) by (apply Rdiv_lt_0_compat; lra).
  rewrite exp_Ropp. replace (2 * N / s) with (/ (s / (2 * N))) by (field; lra).
  apply Rinv_le_contravar; [assumption|]. assert (E := exp_ineq1_le (s / (2 * N))). lra.
Qed.

Lemma ln_le_2sqrt x : 1 <= x -> 0 <= ln x <= 2 * sqrt x.
Proof.
  intros Hx. split.
  - destruct Hx as [H| <-]; [|rewrite ln_1; lra]. left. rewrite <- ln_1. apply ln_increasing; lra.
  - assert (P : 0 < sqrt x) by (apply sqrt_lt_R0; lra).
    rewrite <- (sqrt_sqrt x) at 1 by lra. rewrite ln_mult by assumption.
    assert (E := exp_ineq1_le (ln (sqrt x))). rewrite exp_ln in E by assumption. lra.
Qed.

(** [one-query-separates], stronger: for every m with 2^-m <= delta, and every n
    from some n0 on, whatever the score vectors of V_0 and V_1. *)
Theorem one_query_separates (l h kappa tau delta : R) (m : nat) :
  0 < l -> l <= h -> 1 < kappa -> 0 < tau < 1 -> 0 < delta -> (1 / 2) ^ m <= delta ->
  exists n0 : nat, (2 <= n0)%nat /\ forall n : nat, (n0 <= n)%nat ->
  forall v0 v1 j, V0 l h n v0 -> V1 l h kappa n v1 j ->
    1 - query_fires Softmax n m tau v1 <= delta /\
    query_fires Softmax n m tau v0 <= delta /\
    query_fires Linear n m tau v0 <= delta /\
    query_fires Linear n m tau v1 <= delta.
Proof.
  intros Hl Hlh Hk Ht Hd Hm.
  set (C1 := exp (h - l)). set (C2 := h / l).
  set (C3 := (16 * kappa * kappa + 2 * h * h) / (l * l)).
  assert (P1 : 0 < C1) by apply exp_pos.
  assert (P2 : 0 < C2) by (apply Rdiv_lt_0_compat; lra).
  assert (P3 : 0 < C3) by (apply Rdiv_lt_0_compat; [|apply Rmult_lt_0_compat; lra]; nra).
  set (C := C1 + C2 + C3).
  (* the weight f_j exceeds (1 + tau)/2 *)
  assert (Lim := lim_power_neg (kappa - 1) ltac:(lra)).
  set (e := (1 - tau) / (2 * exp h)).
  assert (Pe : 0 < e) by (apply Rdiv_lt_0_compat; [lra | assert (H := exp_pos h); lra]).
  apply is_lim_spec in Lim. destruct (Lim (mkposreal e Pe)) as (M & HM). simpl in HM.
  set (x0 := Rmax M (Rmax 2 (INR m * 2 * C / (tau * tau * delta)))).
  destruct (nfloor_ex x0) as (n1 & _ & Hn1).
  { apply Rle_trans with 2; [lra|]. unfold x0. apply Rle_trans with (2 := Rmax_r _ _). apply Rmax_l. }
  exists (S n1 + 2)%nat. split; [lia|]. intros n Hn v0 v1 j HV0 HV1.
  assert (H2 : (2 <= n)%nat) by lia.
  assert (Hx0 : x0 < INR n).
  { apply Rlt_le_trans with (1 := Hn1). rewrite <- S_INR. apply le_INR. lia. }
  assert (HnM : M < INR n) by (apply Rle_lt_trans with (2 := Hx0); apply Rmax_l).
  assert (N2 : 2 <= INR n) by (apply (le_INR 2); assumption).
  assert (HnC : INR m * 2 * C / (tau * tau * delta) <= INR n).
  { left. apply Rle_lt_trans with (2 := Hx0). unfold x0.
    apply Rle_trans with (2 := Rmax_r _ _). apply Rmax_r. }
  assert (Hm0 := pos_INR m).
  assert (Tt : 0 < tau * tau) by nra.
  assert (Small : forall N, 0 < N <= C / INR n ->
     INR m * exp (- (tau * tau / (2 * N))) <= delta).
  { intros N [HN HNC]. apply Rle_trans with (INR m * (2 * N / (tau * tau))).
    - apply Rmult_le_compat_l; [assumption|]. apply exp_le_inv; assumption.
    - apply Rle_trans with (INR m * (2 * (C / INR n) / (tau * tau))).
      + apply Rmult_le_compat_l; [assumption|]. unfold Rdiv at 1 2.
        apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; assumption|].
        fold (C / INR n). lra.
      + apply Rmult_le_reg_r with (INR n * (tau * tau)); [apply Rmult_lt_0_compat; lra|].
        replace (INR m * (2 * (C / INR n) / (tau * tau)) * (INR n * (tau * tau)))
          with (INR m * 2 * C / (tau * tau * delta) * (tau * tau * delta)) by (field; lra).
        replace (delta * (INR n * (tau * tau))) with (INR n * (tau * tau * delta)) by ring.
        apply Rmult_le_compat_r; [|assumption].
        left. apply Rmult_lt_0_compat; assumption. }
  assert (CN : forall c', 0 <= c' <= C -> c' / INR n <= C / INR n).
  { intros c' [_ H]. unfold Rdiv. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra | assumption]. }
  split; [|split; [|split]].
  - assert (F : tau < 2 * query_f Softmax n v1 j - 1).
    { assert (S := softmax_spike l h kappa n v1 H2 j HV1).
      assert (B := HM (INR n) HnM). rewrite Rminus_0_r in B.
      assert (Pr := Rpower_pos (INR n) (- (kappa - 1))).
      rewrite Rabs_right in B by lra.
      assert (E : INR n * Rpower (INR n) (- kappa) = Rpower (INR n) (- (kappa - 1))).
      { rewrite <- (Rpower_1 (INR n)) at 1 by lra. rewrite <- Rpower_plus. f_equal. ring. }
      assert (Ph := exp_pos h). assert (Pr' := Rpower_pos (INR n) (- kappa)).
      set (r := Rpower (INR n) (- kappa)) in *. set (z := (INR n - 1) * exp h * r) in *.
      assert (Hz0 : 0 < z) by (unfold z; repeat apply Rmult_lt_0_compat; lra).
      assert (Hz : z < (1 - tau) / 2).
      { apply Rle_lt_trans with (exp h * (INR n * r)).
        - unfold z. assert (0 < exp h * r) by (apply Rmult_lt_0_compat; assumption). nra.
        - rewrite E. replace ((1 - tau) / 2) with (exp h * e) by (unfold e; field; lra).
          apply Rmult_lt_compat_l; assumption. }
      (* 1/(1+z) >= 1 - z *)
      assert (1 - z <= 1 / (1 + z)).
      { apply Rmult_le_reg_r with (1 + z); [lra|].
        replace (1 / (1 + z) * (1 + z)) with 1 by (field; lra). nra. }
      lra. }
    assert (H := one_query_softmax_V1 l h kappa tau n v1 Hl Hlh H2 ltac:(lra) (proj1 Ht) j m HV1 F). lra.
  - apply Rle_trans with (1 := one_query_softmax_V0 l h tau n v0 Hl Hlh H2 (proj1 Ht) m HV0).
    apply Small. fold C1. split; [apply Rdiv_lt_0_compat; lra | apply CN; unfold C; lra].
  - apply Rle_trans with (1 := one_query_linear_V0 l h tau n v0 Hl Hlh H2 (proj1 Ht) m HV0).
    apply Small. fold C2. split; [apply Rdiv_lt_0_compat; lra | apply CN; unfold C; lra].
  - apply Rle_trans with (1 := one_query_linear_V1 l h kappa tau n v1 Hl Hlh H2 ltac:(lra) (proj1 Ht) j m HV1).
    apply Small. unfold N1. set (k := kappa * ln (INR n)).
    destruct (ln_le_2sqrt (INR n) ltac:(lra)) as [L0 L1].
    assert (Sq := sqrt_sqrt (INR n) ltac:(lra)). assert (Sp := sqrt_pos (INR n)).
    assert (K0 : 0 <= k) by (apply Rmult_le_pos; lra).
    assert (Pl : 0 < (INR n - 1) * l) by (apply Rmult_lt_0_compat; lra).
    assert (Hz : 0 < h / ((INR n - 1) * l + k)) by (apply Rdiv_lt_0_compat; lra).
    split.
    + assert (0 <= (k / (k + (INR n - 1) * l)) ^ 2) by apply pow2_ge_0.
      assert (0 < (INR n - 1) * (h / ((INR n - 1) * l + k)) ^ 2)
        by (apply Rmult_lt_0_compat; [lra | apply pow_lt; assumption]). lra.
    + apply Rle_trans with (C3 / INR n); [|apply CN; unfold C; lra].
      set (x := INR n) in *.
      assert (A1 : (k / (k + (x - 1) * l)) ^ 2 <= 16 * kappa * kappa / (l * l) / x).
      { apply Rle_trans with ((2 * kappa * sqrt x / (x / 2 * l)) ^ 2).
        - apply pow_incr. split; [apply Rmult_le_pos; [assumption | left; apply Rinv_0_lt_compat; lra]|].
          unfold Rdiv. apply Rmult_le_compat; [assumption | left; apply Rinv_0_lt_compat; lra | |].
          + unfold k. apply Rle_trans with (kappa * (2 * sqrt x)); [apply Rmult_le_compat_l; lra | lra].
          + apply Rinv_le_contravar; [apply Rmult_lt_0_compat; lra|]. nra.
        - right. replace ((2 * kappa * sqrt x / (x / 2 * l)) ^ 2)
            with (16 * kappa * kappa * (sqrt x * sqrt x) / (x * x * (l * l))) by (field; lra).
          rewrite Sq. field. lra. }
      assert (A2 : (x - 1) * (h / ((x - 1) * l + k)) ^ 2 <= 2 * h * h / (l * l) / x).
      { apply Rle_trans with ((x - 1) * (h / ((x - 1) * l)) ^ 2).
        - apply Rmult_le_compat_l; [lra|]. apply pow_incr. split; [lra|].
          unfold Rdiv. apply Rmult_le_compat_l; [lra|]. apply Rinv_le_contravar; lra.
        - replace ((x - 1) * (h / ((x - 1) * l)) ^ 2) with (h * h / (l * l) * / (x - 1)) by (field; lra).
          replace (2 * h * h / (l * l) / x) with (h * h / (l * l) * / (x / 2)) by (field; lra).
          apply Rmult_le_compat_l.
          + apply Rmult_le_pos; [nra | left; apply Rinv_0_lt_compat, Rmult_lt_0_compat; lra].
          + apply Rinv_le_contravar; lra. }
      replace (C3 / x) with (16 * kappa * kappa / (l * l) / x + 2 * h * h / (l * l) / x)
        by (unfold C3; field; lra).
      lra.
Qed.
