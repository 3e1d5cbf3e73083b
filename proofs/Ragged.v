(** * Ragged classes.

    Proved here: the law of one column for classes of any sizes; softmax fires
    whatever the sizes are; Hoeffding's bound, and that it vanishes with the
    concentration. *)

From Coq Require Import Reals List Arith Lra Lia Psatz.
Require Import Model Signs Rows Attention Golden Main.
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

(** [ragged-silent]: the bound; for its limit see [ragged_separates]. *)
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

(** ** The bounds vanish with the concentration *)

Let conc := concentration d n class.

Lemma concentration_norm : conc * INR n ^ 2 = Sum (d - 2) (fun k => T k ^ 2).
Proof.
  assert (HN : 2 <= INR n) by exact (size_ge_2 D V). unfold conc, concentration.
  rewrite Rmult_comm, <- Sum_scal. apply Sum_ext. intros k _. field. lra.
Qed.

Lemma concentration_ge : 1 / INR n <= conc.
Proof.
  assert (HN : 2 <= INR n) by exact (size_ge_2 D V).
  assert (Total : Sum (d - 2) (fun k => T k) = INR n).
  { apply eq_trans with (Sum (d - 2) (fun k => mass D (in_class D k) (fun _ => 1))).
    - apply Sum_ext. intros k _. symmetry. exact (ragged_class_size k).
    - apply eq_trans with (1 := mass_total D V (fun _ => 1)). simpl size. rewrite Sum_const. ring. }
  assert (H : INR n <= conc * INR n ^ 2).
  { rewrite concentration_norm, <- Total at 1. apply Sum_le. intros k _.
    destruct (class_count n class k) as [|m]; [simpl; lra|].
    assert (1 <= INR (S m)) by (apply (le_INR 1); lia). nra. }
  apply Rmult_le_reg_r with (INR n ^ 2); [apply pow_lt; lra|].
  apply Rle_trans with (2 := H). right. field. lra.
Qed.

(** A gain of the order root n: the weight and the squared norm are small. *)
Lemma ragged_small B R : 1 <= B -> 1 <= R -> R ^ 2 <= B ^ 2 * INR n -> 400 * B ^ 4 * conc <= 1 -> a <= B ->
  let w := R / (R + INR n - 1) in
  let r := (1 - w) / (INR n - 1) in
  let Q := (w + (T ks - 1) * r) ^ 2 + r ^ 2 * Sum (d - 2) (fun k => if Nat.eqb k ks then 0 else T k ^ 2) in
  a * w <= 1 / 20 /\ exp (- ((1 / 10 - a * w) ^ 2 / (2 * b c ^ 2 * Q))) <= 800 * ((2 * B ^ 2 + 8) * conc).
Proof.
  intros HB HR HRB Hq Ha w r Q. assert (HN : 2 <= INR n) by exact (size_ge_2 D V).
  assert (Ha0 : 0 <= a) by apply V. assert (Hb := b_range D V). simpl constant in Hb.
  assert (Gq := concentration_ge). assert (T1 := class_count_mark).
  assert (Hq0 : 0 < conc) by (apply Rlt_le_trans with (2 := Gq); apply Rdiv_lt_0_compat; lra).
  assert (Ew : w * (R + INR n - 1) = R) by (unfold w; field; lra).
  assert (Hw : 0 < w <= 1).
  { split; [apply Rdiv_lt_0_compat; lra|]. apply Rmult_le_reg_r with (R + INR n - 1); lra. }
  assert (Hw2 : w ^ 2 <= B ^ 2 * conc).
  { apply Rle_trans with (B ^ 2 * (1 / INR n)); [|apply Rmult_le_compat_l; [apply pow2_ge_0 | assumption]].
    assert (Hwn : w * INR n <= R) by nra.
    apply Rmult_le_reg_r with (INR n ^ 2); [apply pow_lt; lra|].
    replace (B ^ 2 * (1 / INR n) * INR n ^ 2) with (B ^ 2 * INR n) by (field; lra).
    apply Rle_trans with (2 := HRB). replace (w ^ 2 * INR n ^ 2) with ((w * INR n) ^ 2) by ring.
    apply pow_incr. split; [apply Rmult_le_pos; lra | assumption]. }
  assert (Haw : a * w <= 1 / 20).
  { apply Rnot_lt_le. intros H.
    assert (H1 : (1 / 20) ^ 2 < (a * w) ^ 2) by (simpl; apply Rmult_gt_0_lt_compat; lra).
    assert (H2 : (a * w) ^ 2 <= B ^ 2 * (B ^ 2 * conc)).
    { rewrite Rpow_mult_distr. apply Rmult_le_compat; try apply pow2_ge_0; [apply pow_incr; lra | assumption]. }
    replace (B ^ 2 * (B ^ 2 * conc)) with (B ^ 4 * conc) in H2 by ring. lra. }
  split; [assumption|]. apply bound_small; [assumption | | assumption]. split.
  - assert (Hr : 0 <= r) by (apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; lra]).
    assert (0 < (w + (T ks - 1) * r) ^ 2) by (apply pow_lt; assert (0 <= (T ks - 1) * r) by (apply Rmult_le_pos; lra); lra).
    assert (0 <= Sum (d - 2) (fun k => if Nat.eqb k ks then 0 else T k ^ 2))
      by (apply Sum_nonneg; intros k _; destruct (Nat.eqb k ks); [lra | apply pow2_ge_0]).
    assert (0 <= r ^ 2 * Sum (d - 2) (fun k => if Nat.eqb k ks then 0 else T k ^ 2))
      by (apply Rmult_le_pos; [apply pow2_ge_0 | assumption]).
    unfold Q. lra.
  - assert (Er : r = / (R + INR n - 1)) by (unfold r, w; field; lra).
    assert (Hr : 0 <= r * INR n <= 1).
    { rewrite Er. split; [apply Rmult_le_pos; [left; apply Rinv_0_lt_compat|]; lra|].
      apply Rmult_le_reg_l with (R + INR n - 1); [lra|]. rewrite <- Rmult_assoc, Rinv_r by lra. lra. }
    set (others := Sum (d - 2) (fun k => if Nat.eqb k ks then 0 else T k ^ 2)) in *.
    assert (Split : T ks ^ 2 + others = conc * INR n ^ 2).
    { rewrite concentration_norm. unfold others.
      rewrite (Sum_ext (d - 2) (fun k => T k ^ 2) (fun k => (if Nat.eqb k ks then T ks ^ 2 else 0) +
        (if Nat.eqb k ks then 0 else T k ^ 2))).
      - rewrite Sum_plus, (Sum_one (d - 2) ks (fun k => if Nat.eqb k ks then T ks ^ 2 else 0) 0).
        + rewrite Nat.eqb_refl. ring.
        + apply V. exact Hj.
        + intros k _ Hk. replace (Nat.eqb k ks) with false by (symmetry; apply Nat.eqb_neq; assumption). reflexivity.
      - intros k _. destruct (Nat.eqb k ks) eqn:E; [apply Nat.eqb_eq in E; subst k|]; ring. }
    assert (H1 : (w + (T ks - 1) * r) ^ 2 <= 2 * w ^ 2 + 2 * ((T ks - 1) ^ 2 * r ^ 2)).
    { assert (S := pow2_ge_0 (w - (T ks - 1) * r)). nra. }
    assert (H2 : (T ks - 1) ^ 2 * r ^ 2 <= T ks ^ 2 * r ^ 2)
      by (apply Rmult_le_compat_r; [apply pow2_ge_0 | apply pow_incr; lra]).
    assert (H3 : r ^ 2 * (T ks ^ 2 + others) <= conc).
    { rewrite Split. replace (r ^ 2 * (conc * INR n ^ 2)) with (conc * (r * INR n) ^ 2) by ring.
      assert ((r * INR n) ^ 2 <= 1) by (rewrite <- (pow1 2); apply pow_incr; assumption). nra. }
    assert (H4 : 0 <= r ^ 2 * others).
    { apply Rmult_le_pos; [apply pow2_ge_0|]. apply Sum_nonneg. intros k _. destruct (Nat.eqb k ks); [lra | apply pow2_ge_0]. }
    unfold Q. lra.
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

(** [ragged-law]; the weights are R / (R + n - 1) and 1 / (R + n - 1) with the gain R1
    in row jstar and R2 in all others; m s other classes have s tokens. *)
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
    let m := fun s => number (d - 2) (fun k => andb (negb (Nat.eqb k ks)) (Nat.eqb s (class_count n class k))) in
    P_column (tau D) K D = mean_of_eight (fun y1 yk yd =>
      mean_of_binomials m (seq 0 (S n)) (fun others => above (S_min y1 yk yd) (b c * others)) 0)) /\
  (let R1 := Rpower (INR n) (a * (1 + a)) in let R2 := Rpower (INR n) a in
   two_weights softmax D jstar (R1 / (R1 + INR n - 1)) (1 / (R1 + INR n - 1)) (R2 / (R2 + INR n - 1)) (1 / (R2 + INR n - 1))) /\
  (let R := 1 + a in
   two_weights linear D jstar (R / (R + INR n - 1)) (1 / (R + INR n - 1)) (R / (R + INR n - 1)) (1 / (R + INR n - 1))).
Proof.
  split; [exact ragged_row|]. split.
  2: { split; [exact (softmax_two_weights D jstar V eq_refl Hm Hj) | exact (linear_two_weights D jstar V eq_refl Hm Hj)]. }
  intros K R1 R2 H1 H2 W S_min m.
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
  - apply eq_trans with (1 := mean_eight d ks (fun k => T k) (fun y1 yk yd s => above (S_min y1 yk yd) (b c * s)) Hk).
    assert (Sizes : forall G, mean (all_signs (d - 3)) (fun y => G (dot (d - 3) (skip ks (fun k => T k)) y)) =
      mean_of_binomials m (seq 0 (S n)) G 0).
    { intros G. set (tokens := fun i => class_count n class (if Nat.ltb i ks then i else S i)).
      assert (E := signs_by_size (d - 3) tokens (seq 0 (S n)) G 0 (seq_NoDup _ _)).
      rewrite (mean_of_binomials_ext m (fun s => number (d - 3) (fun i => Nat.eqb s (tokens i)))).
      - rewrite <- E.
        + apply mean_ext. intros y _. rewrite Rplus_0_l. f_equal. apply Sum_ext. intros i _.
          unfold skip, tokens. destruct (Nat.ltb i ks); reflexivity.
        + intros i _. apply in_seq. assert (B := number_le n (fun l => Nat.eqb (if Nat.ltb i ks then i else S i) (class l))).
          change (tokens i <= n)%nat in B. lia.
      - intros s _. unfold m. replace (d - 2)%nat with (S (d - 3)) by lia.
        apply (number_skip (d - 3) ks (fun k => Nat.eqb s (class_count n class k))). lia. }
    assert (E : forall y1 yk yd,
      mean (all_signs (d - 3)) (fun y => above (S_min y1 yk yd) (b c * dot (d - 3) (skip ks (fun k => T k)) y)) =
      mean_of_binomials m (seq 0 (S n)) (fun others => above (S_min y1 yk yd) (b c * others)) 0)
      by (intros y1 yk yd; exact (Sizes (fun others => above (S_min y1 yk yd) (b c * others)))).
    unfold mean_of_eight. cbv beta. rewrite !E. reflexivity.
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

(** [ragged-silent], "so the theorem survives whenever Q -> 0": from some concentration on. *)
Theorem ragged_separates (a0 a1 c delta : R) (m : nat) :
  0 <= a0 <= 1 / 10 -> 7 / 10 <= a1 -> 0 < c < 1 -> 0 < delta -> (7 / 8) ^ m <= delta ->
  exists e : R, 0 < e /\ forall d n class jstar, (2 <= n)%nat -> (jstar < n)%nat ->
    (forall i, (i < n)%nat -> (class i < d - 2)%nat) -> concentration d n class <= e ->
    let D0 := ragged_data d n class jstar a0 c in
    let D1 := ragged_data d n class jstar a1 c in
    1 - delta <= P_fires (tau D1) softmax D1 m /\
    P_fires (tau D0) softmax D0 m <= delta /\
    P_fires (tau D0) linear D0 m <= delta /\
    P_fires (tau D1) linear D1 m <= delta.
Proof.
  intros H0 H1 Hc Hd Hm. assert (Hm0 := pos_INR m). set (B := 1 + a1). set (M := 800 * (2 * B ^ 2 + 8)).
  assert (HB : 1 <= B) by (unfold B; lra).
  assert (PB4 : 0 < 400 * B ^ 4) by (apply Rmult_lt_0_compat; [|apply pow_lt]; lra).
  assert (PM : 0 < M) by (unfold M; assert (P := pow2_ge_0 B); lra).
  assert (PmM : 0 < (INR m + 1) * (2 * M)) by (apply Rmult_lt_0_compat; lra).
  exists (Rmin (1 / (400 * B ^ 4)) (delta / ((INR m + 1) * (2 * M)))). split.
  { apply Rmin_glb_lt; apply Rdiv_lt_0_compat; lra. }
  intros d n class jstar Hn Hj Hcl Hq D0 D1. set (conc := concentration d n class) in *.
  assert (Q1 := Rle_trans _ _ _ Hq (Rmin_l _ _)). assert (Q2 := Rle_trans _ _ _ Hq (Rmin_r _ _)).
  assert (HqB : 400 * B ^ 4 * conc <= 1).
  { apply (Rmult_le_compat_l (400 * B ^ 4)) in Q1; [|lra].
    replace (400 * B ^ 4 * (1 / (400 * B ^ 4))) with 1 in Q1 by (field; lra). assumption. }
  assert (C0 : conditions D0) by (repeat split; simpl; try assumption; lra).
  assert (C1 : conditions D1) by (repeat split; try assumption; simpl; lra).
  assert (Gq := concentration_ge d n class jstar a0 c C0 Hj). fold conc in Gq.
  assert (HN : 2 <= INR n) by (apply (le_INR 2); assumption).
  assert (Hq0 : 0 < conc) by (apply Rlt_le_trans with (2 := Gq); apply Rdiv_lt_0_compat; lra).
  assert (Sm : forall x, x <= M * conc + M * conc -> INR m * x <= delta).
  { intros x Hx. apply (Rmult_le_compat_l ((INR m + 1) * (2 * M))) in Q2; [|lra].
    replace ((INR m + 1) * (2 * M) * (delta / ((INR m + 1) * (2 * M)))) with delta in Q2 by (field; lra).
    assert (0 < M * conc) by (apply Rmult_lt_0_compat; assumption).
    apply Rle_trans with (INR m * (M * conc + M * conc)); [apply Rmult_le_compat_l; assumption | nra]. }
  assert (Power : forall e, 0 <= e <= 1 / 2 -> 1 <= Rpower (INR n) e /\ Rpower (INR n) e ^ 2 <= B ^ 2 * INR n).
  { intros e He. split; [rewrite <- (Rpower_O (INR n)) by lra; apply Rle_Rpower; lra|].
    apply Rle_trans with (1 * INR n).
    - replace (Rpower (INR n) e ^ 2) with (Rpower (INR n) (e + e)) by (rewrite Rpower_plus; ring).
      rewrite Rmult_1_l. rewrite <- (Rpower_1 (INR n)) at 2 by lra. apply Rle_Rpower; lra.
    - apply Rmult_le_compat_r; [lra|]. rewrite <- (pow1 2). apply pow_incr. lra. }
  assert (Linear : forall a, 0 <= a <= a1 -> (1 + a) ^ 2 <= B ^ 2 * INR n).
  { intros a Ha. apply Rle_trans with (B ^ 2 * 1).
    - rewrite Rmult_1_r. apply pow_incr. unfold B. lra.
    - apply Rmult_le_compat_l; [apply pow2_ge_0 | lra]. }
  assert (EM : 800 * ((2 * B ^ 2 + 8) * conc) = M * conc) by (unfold M; ring).
  split; [|split; [|split]].
  - apply Rle_trans with (1 - (7 / 8) ^ m); [lra|]. apply P_fires_ge; [lra|].
    apply Rle_trans with (1 / 8); [lra|].
    apply (ragged_softmax_fires d n class jstar a1 c C1 Hj). apply mark_is_seen; assumption.
  - apply Rle_trans with (INR m * P_column (tau D0) softmax D0); [apply P_fires_le|]. apply Sm.
    destruct (ragged_silent d n class jstar a0 c C0 Hj) as (S & _). cbv beta zeta in S.
    destruct (Power (a0 * (1 + a0)) ltac:(nra)) as (P1 & P2). destruct (Power a0 ltac:(lra)) as (P3 & P4).
    destruct (ragged_small d n class jstar a0 c C0 Hj B _ HB P1 P2 HqB ltac:(unfold B; lra)) as (W1 & E1).
    destruct (ragged_small d n class jstar a0 c C0 Hj B _ HB P3 P4 HqB ltac:(unfold B; lra)) as (W2 & E2).
    cbv zeta in E1, E2. rewrite <- p_gain in W1, E1 by lra. rewrite <- q_gain in W2, E2 by lra.
    specialize (S ltac:(lra) ltac:(lra)). fold conc in E1, E2. fold D0 in S. lra.
  - apply Rle_trans with (INR m * P_column (tau D0) linear D0); [apply P_fires_le|]. apply Sm.
    destruct (ragged_silent d n class jstar a0 c C0 Hj) as (_ & S). cbv beta zeta in S.
    destruct (ragged_small d n class jstar a0 c C0 Hj B (1 + a0) HB ltac:(lra) (Linear a0 ltac:(lra)) HqB ltac:(unfold B; lra)) as (W & E).
    cbv zeta in E. rewrite <- p_lin_gain in W, E. specialize (S ltac:(lra)). fold conc in E. fold D0 in S.
    assert (0 < M * conc) by (apply Rmult_lt_0_compat; assumption). lra.
  - apply Rle_trans with (INR m * P_column (tau D1) linear D1); [apply P_fires_le|]. apply Sm.
    destruct (ragged_silent d n class jstar a1 c C1 Hj) as (_ & S). cbv beta zeta in S.
    destruct (ragged_small d n class jstar a1 c C1 Hj B (1 + a1) HB ltac:(lra) (Linear a1 ltac:(lra)) HqB ltac:(unfold B; lra)) as (W & E).
    cbv zeta in E. rewrite <- p_lin_gain in W, E. specialize (S ltac:(lra)). fold conc in E. fold D1 in S.
    assert (0 < M * conc) by (apply Rmult_lt_0_compat; assumption). lra.
Qed.
