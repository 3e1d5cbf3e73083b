(** * Ragged classes.

    Proved here: the law of one column for classes of any sizes; softmax fires
    whatever the sizes are; Hoeffding's bound. *)

From Coq Require Import Reals List Arith Lra Lia Psatz.
Require Import Model Signs Rows Attention Main.
Import ListNotations.
Open Scope R_scope.

Section Ragged.

Variables (d n : nat) (class : nat -> nat) (jstar : nat) (a c : R).
Notation D := (ragged_data d n class jstar a c).
Hypothesis V : conditions D.
Hypothesis Hj : (jstar < n)%nat.

Notation ks := (class jstar).
Notation T k := (INR (class_count n class k)).

Let Hm : forall i, marked D i = Nat.eqb i jstar := fun i => eq_refl.

Lemma ragged_class_size k : class_size D k = T k.
Proof. exact (class_size_filter n (fun i => Nat.eqb k (class i)) 0). Qed.

Lemma class_count_mark : 1 <= T ks.
Proof.
  rewrite <- ragged_class_size. unfold class_size, mass.
  apply Rle_trans with (if in_class D ks jstar then 1 else 0).
  - unfold in_class. simpl Model.class. rewrite Nat.eqb_refl. lra.
  - apply (Sum_ge_one n jstar (fun i => if in_class D ks i then 1 else 0) Hj).
    intros i _. destruct (in_class D ks i); lra.
Qed.

(** [ragged-softmax-fires] *)
Theorem ragged_softmax_fires : 1 / 10 < a * p (INR n) a -> 1 / 8 <= P_column (tau D) softmax D.
Proof.
  intros H. assert (S : sees softmax D jstar (p (INR n) a) (q (INR n) a))
    by exact (softmax_sees D jstar V eq_refl Hm Hj).
  assert (Hp : 0 <= p (INR n) a <= 1) by (assert (E := p_range D V); change (0 < p (INR n) a < 1) in E; lra).
  assert (Hf := own_row D jstar Hj softmax _ _ S).
  apply Rle_trans with (P_row (tau D) softmax D jstar); [|apply P_column_ge; assumption].
  apply (row_fires_eighth D V (1 / 10) softmax jstar (row_shares D jstar V Hj softmax jstar _ Hp Hf)).
  rewrite (row_mark D jstar Hm Hj softmax jstar _ Hf). assumption.
Qed.

(** The squared norm of the classes' weights. *)
Lemma ragged_norm K j w : (forall i, (i < n)%nat -> f K D j i = spread n jstar w i) ->
  Sum (d - 2) (fun l => mass D (in_class D l) (f K D j) ^ 2) =
  (w + (T ks - 1) * ((1 - w) / (INR n - 1))) ^ 2 +
  ((1 - w) / (INR n - 1)) ^ 2 * Sum (d - 2) (fun k => if Nat.eqb k ks then 0 else T k ^ 2).
Proof.
  intros Hf. set (r := (1 - w) / (INR n - 1)).
  assert (Hk : (ks < d - 2)%nat) by (apply V; assumption).
  rewrite (Sum_ext (d - 2) _ (fun l => (if Nat.eqb l ks then (w + (T ks - 1) * r) ^ 2 else 0) +
    r ^ 2 * (if Nat.eqb l ks then 0 else T l ^ 2))).
  - rewrite Sum_plus, Sum_scal. f_equal.
    rewrite (Sum_one (d - 2) ks _ 0); [rewrite Nat.eqb_refl; ring | assumption |].
    intros l _ Hl. replace (Nat.eqb l ks) with false by (symmetry; apply Nat.eqb_neq; assumption). reflexivity.
  - intros l Hl. rewrite (row_class D jstar Hj K j w Hf), ragged_class_size. simpl Model.class. simpl size. fold r.
    destruct (Nat.eqb l ks) eqn:E; [apply Nat.eqb_eq in E; subst l|]; ring.
Qed.

(** [ragged-silent], in part: the bound, not its limit. *)
Theorem ragged_silent :
  let Q := fun w => let r := (1 - w) / (INR n - 1) in
    (w + (T ks - 1) * r) ^ 2 + r ^ 2 * Sum (d - 2) (fun k => if Nat.eqb k ks then 0 else T k ^ 2) in
  let bound := fun w => exp (- ((1 / 10 - a * w) ^ 2 / (2 * b c ^ 2 * Q w))) in
  (a * p (INR n) a < 1 / 10 -> a * q (INR n) a < 1 / 10 ->
   P_column (tau D) softmax D <= bound (p (INR n) a) + bound (q (INR n) a)) /\
  (a * p_lin (INR n) a < 1 / 10 -> P_column (tau D) linear D <= bound (p_lin (INR n) a)).
Proof.
  intros Q bound.
  assert (S1 : sees softmax D jstar (p (INR n) a) (q (INR n) a)) by exact (softmax_sees D jstar V eq_refl Hm Hj).
  assert (S2 : sees linear D jstar (p_lin (INR n) a) (p_lin (INR n) a)) by exact (linear_sees D jstar V eq_refl Hm Hj).
  assert (R : forall K j w, 0 <= w <= 1 -> (forall i, (i < n)%nat -> f K D j i = spread n jstar w i) ->
    a * w < 1 / 10 -> P_row (tau D) K D j <= bound w).
  { intros K j w Hw Hf H.
    assert (B := row_silent_masses D V (1 / 10) K j (row_shares D jstar V Hj K j w Hw Hf) (Q w)).
    rewrite (row_mark D jstar Hm Hj K j w Hf) in B. apply B; [assumption|]. right. exact (ragged_norm K j w Hf). }
  assert (Hp : 0 <= p (INR n) a <= 1) by (assert (E := p_range D V); change (0 < p (INR n) a < 1) in E; lra).
  assert (Hq : 0 <= q (INR n) a <= 1) by (assert (E := q_range D V); change (0 < q (INR n) a < 1) in E; lra).
  assert (Hl : 0 <= p_lin (INR n) a <= 1) by (assert (E := p_lin_range D V); change (0 < p_lin (INR n) a < 1) in E; lra).
  destruct (exists_other D jstar V) as (j0 & Hj0 & E0). split.
  - intros H1 H2. apply Rle_trans with (1 := P_column_two (tau D) softmax D jstar j0 Hj Hj0
      (rows_alike D jstar softmax _ _ S1 j0 Hj0 E0)).
    apply Rplus_le_compat; apply R; try assumption.
    + exact (own_row D jstar Hj softmax _ _ S1).
    + intros i Hi. exact (other_rows D jstar softmax _ _ S1 j0 i Hj0 E0 Hi).
  - intros H. rewrite (P_column_one (tau D) linear D jstar Hj (rows_equal D jstar Hj linear _ _ S2 eq_refl)).
    apply R; try assumption. exact (own_row D jstar Hj linear _ _ S2).
Qed.

(** A row's value: its gain is R. *)
Lemma ragged_row K j R y : 0 < R + INR n - 1 ->
  (forall i, (i < n)%nat -> f K D j i = (if Nat.eqb i jstar then R else 1) / (R + INR n - 1)) ->
  let G := 1 / 10 + c * (1 - y_last d y) in
  tau D < dot d (o K D j) y <->
  G * (INR n - 1) - b c * (T ks - 1) * nth (S ks) y 0 + R * (G - a * y_first y - b c * nth (S ks) y 0)
  < b c * Sum (d - 2) (fun k => if Nat.eqb k ks then 0 else T k * nth (S k) y 0).
Proof.
  intros HR Hf G. set (q := R + INR n - 1) in *.
  assert (Hk : (ks < d - 2)%nat) by (apply V; assumption).
  assert (Hf' : forall i, (i < n)%nat -> f K D j i = if Nat.eqb i jstar then R / q else 1 / q)
    by (intros i Hi; rewrite Hf by assumption; destruct (Nat.eqb i jstar); reflexivity).
  change (tau D) with ((c + 1 / 10) * sqrt (L n)).
  assert (E := exceeds_iff D V (c + 1 / 10) K j y). simpl width in E. simpl size in E. rewrite E. clear E.
  set (others := Sum (d - 2) _).
  assert (Value : dot d (value D (f K D j)) y = (a * R * y_first y + b c * (R + T ks - 1) * nth (S ks) y 0
    + b c * others + c * q * y_last d y) / q).
  { destruct (widths D V) as (_ & Ed). simpl width in Ed.
    unfold dot, y_first, y_last. change d with (width D) at 1. rewrite (Sum_width D V). simpl (width D - 2)%nat.
    assert (E1 : value D (f K D j) O = a * (R / q)).
    { unfold value. rewrite (two_mark D jstar Hm Hj K j _ _ Hf'). reflexivity. }
    assert (E2 : value D (f K D j) (S (d - 2)) = c).
    { unfold value. simpl width. rewrite Nat.eqb_refl, (two_total D jstar Hj K j _ _ Hf').
      simpl size. simpl constant. unfold q. field. fold q. lra. }
    rewrite E1, E2. replace (S (d - 2)) with (d - 1)%nat by lia.
    rewrite (Sum_ext (d - 2) _ (fun l => b c / q * (if Nat.eqb l ks then 0 else T l * nth (S l) y 0) +
      (if Nat.eqb l ks then b c * (R + T ks - 1) / q * nth (S ks) y 0 else 0))).
    - rewrite Sum_plus, Sum_scal. fold others.
      rewrite (Sum_one (d - 2) ks (fun l => if Nat.eqb l ks then b c * (R + T ks - 1) / q * nth (S ks) y 0 else 0) 0);
        [|assumption|].
      + rewrite Nat.eqb_refl. field. lra.
      + intros l _ Hl. replace (Nat.eqb l ks) with false by (symmetry; apply Nat.eqb_neq; assumption). reflexivity.
    - intros l Hl. rewrite (class_value D K j l) by assumption.
      rewrite (two_class D jstar Hj K j _ _ Hf'), ragged_class_size. simpl Model.class. simpl constant.
      destruct (Nat.eqb l ks) eqn:E; [apply Nat.eqb_eq in E; subst l|]; field; lra. }
  rewrite Value. clear Value.
  set (N := a * R * y_first y + _ + _ + _). assert (EN : N / q * q = N) by (field; lra). unfold N in *. unfold G.
  split; intros H.
  - apply (Rmult_lt_compat_r q) in H; [|assumption]. rewrite EN in H. unfold q in H. lra.
  - apply Rmult_lt_reg_r with q; [assumption|]. rewrite EN. unfold q. lra.
Qed.

(** [ragged-law], in part: the mean over signs, not yet as binomials; the weights are
    R / (R + n - 1) and 1 / (R + n - 1) with the gain R1 in row jstar and R2 in all others; softmax and linear attention have such rows. *)
Theorem ragged_law :
  (forall K j R y, 0 < R + INR n - 1 ->
    (forall i, (i < n)%nat -> f K D j i = (if Nat.eqb i jstar then R else 1) / (R + INR n - 1)) ->
    let G := 1 / 10 + c * (1 - y_last d y) in
    let yk := nth (S ks) y 0 in
    tau D < dot d (o K D j) y <->
    b c * Sum (d - 2) (fun k => if Nat.eqb k ks then 0 else T k * nth (S k) y 0) >
    G * (INR n - 1) - b c * (T ks - 1) * yk + R * (G - a * y_first y - b c * yk)) /\
  (forall K R1 R2, 0 < R1 -> 0 < R2 ->
    two_weights K D jstar (R1 / (R1 + INR n - 1)) (1 / (R1 + INR n - 1)) (R2 / (R2 + INR n - 1)) (1 / (R2 + INR n - 1)) ->
    let S_min := fun y1 yk yd =>
      let G := 1 / 10 + c * (1 - yd) in
      let bound := fun R => G * (INR n - 1) - b c * (T ks - 1) * yk + R * (G - a * y1 - b c * yk) in
      Rmin (bound R1) (bound R2) in
    P_column (tau D) K D = mean_of_eight (fun y1 yk yd =>
      mean (all_signs (d - 3)) (fun y => above (S_min y1 yk yd)
        (b c * dot (d - 3) (fun i => if Nat.ltb i ks then T i else T (S i)) y)))).
Proof.
  split; [exact ragged_row|]. intros K R1 R2 H1 H2 W S_min.
  assert (HN : 2 <= INR n) by exact (size_ge_2 D V).
  assert (Hk : (ks < d - 2)%nat) by (apply V; assumption).
  assert (F1 : forall i, (i < n)%nat -> f K D jstar i = (if Nat.eqb i jstar then R1 else 1) / (R1 + INR n - 1)).
  { intros i Hi. rewrite W by assumption. rewrite Nat.eqb_refl. destruct (Nat.eqb i jstar); reflexivity. }
  assert (F2 : forall j, (j < n)%nat -> Nat.eqb j jstar = false ->
    forall i, (i < n)%nat -> f K D j i = (if Nat.eqb i jstar then R2 else 1) / (R2 + INR n - 1)).
  { intros j Hjn E i Hi. rewrite W by assumption. rewrite E. destruct (Nat.eqb i jstar); reflexivity. }
  destruct (exists_other D jstar V) as (j0 & Hj0 & E0).
  rewrite P_column_hit.
  rewrite (mean_ext _ _ (fun y => (fun y1 yk yd s => above (S_min y1 yk yd) (b c * s))
    (y_first y) (nth (S ks) y 0) (y_last d y)
    (Sum (d - 2) (fun l => if Nat.eqb l ks then 0 else T l * nth (S l) y 0)))).
  - exact (mean_eight d ks (fun k => T k) (fun y1 yk yd s => above (S_min y1 yk yd) (b c * s)) Hk).
  - intros y _. cbv beta. unfold S_min.
    assert (R1p := ragged_row K jstar R1 y ltac:(lra) F1). cbv zeta in R1p.
    destruct (hit_cases (tau D) K D y) as [(-> & j & Hjn & P) | (-> & P)];
      unfold above, Rmin; destruct (Rle_dec _ _) as [Hle|Hle]; destruct (Rlt_dec _ _) as [Q|Q]; try reflexivity; exfalso.
    + apply Q. destruct (Nat.eqb j jstar) eqn:E.
      * apply Nat.eqb_eq in E. subst j. apply R1p. exact P.
      * apply (ragged_row K j R2 y ltac:(lra) (F2 j Hjn E)) in P. lra.
    + apply Q. destruct (Nat.eqb j jstar) eqn:E.
      * apply Nat.eqb_eq in E. subst j. apply R1p in P. lra.
      * apply (ragged_row K j R2 y ltac:(lra) (F2 j Hjn E)) in P. exact P.
    + apply (P jstar Hj). apply R1p. exact Q.
    + apply (P j0 Hj0). apply (ragged_row K j0 R2 y ltac:(lra) (F2 j0 Hj0 E0)). exact Q.
Qed.

End Ragged.
