(** * Counting.

    Proved here: the values and the law of one column on the counting data; linear
    attention counts; softmax fires on both from some n on; which gains lie in the
    window. *)

From Coq Require Import Reals List Arith Bool Lra Lia Psatz.
Require Import Model Signs Rows Attention Golden.
Import ListNotations.
Open Scope R_scope.

Lemma class_sum K k x m : (k < K)%nat ->
  Sum (K * m) (fun i => if Nat.eqb k (i mod K) then x else 0) = INR m * x.
Proof.
  intros Hk. induction m.
  - rewrite Nat.mul_0_r. simpl. ring.
  - rewrite Nat.mul_succ_r, Sum_add, IHm, S_INR. rewrite (Sum_one K k _ 0); [|assumption|].
    + rewrite Nat.mul_comm, Nat.add_comm, Nat.mod_add, Nat.mod_small, Nat.eqb_refl by lia. ring.
    + intros l Hl Hne. rewrite Nat.mul_comm, Nat.add_comm, Nat.mod_add, Nat.mod_small by lia.
      replace (Nat.eqb k l) with false by (symmetry; apply Nat.eqb_neq; lia). reflexivity.
Qed.

Section Counting.

Variables (d t r : nat) (a c : R).
Hypothesis C : count_conditions d t r a c.

Notation D := (count_data d t (n d r) a c).
Notation n := (n d t).
Notation s := (Model.n d r).
Notation rho := (INR r / INR t).

Lemma count_sizes : (1 <= d - 2)%nat /\ (0 < s < n)%nat /\ n = (s + (d - 2) * (t - r))%nat.
Proof.
  destruct C as (H & Hr & _). unfold Model.n in *.
  assert (1 <= d - 2)%nat by (destruct (d - 2)%nat; simpl in H; lia). repeat split; nia.
Qed.

Lemma count_valid : conditions D.
Proof.
  destruct C as (H & Hr & Ha & Hc). destruct count_sizes as (Hd & _).
  repeat split; simpl; try assumption; try lra. intros i _. apply Nat.mod_upper_bound. lia.
Qed.

Lemma rho_range : 0 < rho < 1 /\ INR s = rho * INR n.
Proof.
  destruct C as (_ & Hr & _). destruct Hr as (Hr & Hrt).
  apply (le_INR 1) in Hr. simpl (INR 1) in Hr. apply lt_INR in Hrt. split; [split|].
  - apply Rdiv_lt_0_compat; lra.
  - apply Rmult_lt_reg_r with (INR t); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
  - unfold Model.n. rewrite !mult_INR. field. lra.
Qed.

(** A sum over marked tokens of weight x and others of weight z. *)
Lemma mark_sum x z : Sum n (fun i => if Nat.ltb i s then x else z) = INR s * x + (INR n - INR s) * z.
Proof.
  destruct count_sizes as (_ & _ & E). rewrite E at 1. rewrite Sum_add.
  rewrite (Sum_ext s _ (fun _ => x)) by (intros i Hi; apply Nat.ltb_lt in Hi; rewrite Hi; reflexivity).
  rewrite (Sum_ext _ (fun k => if Nat.ltb (s + k) s then x else z) (fun _ => z))
    by (intros i _; replace (Nat.ltb (s + i) s) with false by (symmetry; apply Nat.ltb_ge; lia); reflexivity).
  rewrite !Sum_const, E, plus_INR. ring.
Qed.

Section Row.

Variables (K : kernels) (j : nat) (R : R).
Hypothesis HR : 0 < R.
Hypothesis Hf : forall i, (i < n)%nat ->
  f K D j i = (if Nat.ltb i s then R else 1) / (R * INR s + INR n - INR s).

Let w := count_mass rho R.

Lemma total_pos : 0 < R * INR s + INR n - INR s.
Proof.
  destruct rho_range as (H & E). assert (HN := size_ge_2 D count_valid). simpl size in HN. rewrite E.
  set (x := rho) in *; clearbody x. assert (0 < R * (x * INR n)) by (repeat apply Rmult_lt_0_compat; lra). nra.
Qed.

Lemma count_w : INR s * R / (R * INR s + INR n - INR s) = w.
Proof.
  destruct rho_range as (H & E). assert (HN := size_ge_2 D count_valid). simpl size in HN.
  assert (P := total_pos). unfold w, count_mass. rewrite E in *.
  set (x := rho) in *; clearbody x. assert (0 < x * R) by (apply Rmult_lt_0_compat; lra). field. split; lra.
Qed.

Lemma count_sum : Sum n (f K D j) = 1.
Proof.
  assert (P := total_pos). set (q := R * INR s + INR n - INR s) in *.
  rewrite (Sum_ext n _ (fun i => if Nat.ltb i s then R / q else 1 / q)).
  - rewrite mark_sum. unfold q. field. fold q. lra.
  - intros i Hi. rewrite Hf by assumption. fold q. destruct (Nat.ltb i s); reflexivity.
Qed.

Lemma count_marked : mass D (marked D) (f K D j) = w.
Proof.
  rewrite <- count_w. assert (P := total_pos). set (q := R * INR s + INR n - INR s) in *. unfold mass.
  simpl size. rewrite (Sum_ext n _ (fun i => if Nat.ltb i s then R / q else 0)).
  - rewrite mark_sum. field. lra.
  - intros i Hi. rewrite Hf by assumption. fold q. simpl marked. destruct (Nat.ltb i s); reflexivity.
Qed.

Lemma count_class k : (k < d - 2)%nat -> mass D (in_class D k) (f K D j) = 1 / (INR d - 2).
Proof.
  intros Hk. assert (P := total_pos). destruct count_sizes as (Hd & Hs & En).
  assert (Ht : (r < t)%nat) by apply C.
  set (q := R * INR s + INR n - INR s) in *. unfold mass. simpl size. rewrite En at 1. rewrite Sum_add.
  rewrite (Sum_ext s _ (fun i => if Nat.eqb k (i mod (d - 2)) then R / q else 0)).
  - rewrite (Sum_ext _ (fun i => if in_class D k (s + i)%nat then f K D j (s + i)%nat else 0)
      (fun i => if Nat.eqb k (i mod (d - 2)) then 1 / q else 0)).
    + unfold Model.n at 1. rewrite !class_sum by assumption.
      rewrite minus_INR by lia. assert (Ed : INR (d - 2) = INR d - 2) by (rewrite minus_INR by lia; reflexivity).
      assert (Pd : 1 <= INR d - 2) by (rewrite <- Ed; apply (le_INR 1); assumption).
      assert (Eq : q = (INR d - 2) * (INR r * R + INR t - INR r)).
      { unfold q, Model.n. rewrite !mult_INR, Ed. ring. }
      rewrite Eq in P |- *. assert (0 < INR r * R + INR t - INR r) by nra. field. split; lra.
    + intros i Hi. unfold in_class. simpl class.
      assert (Em : ((s + i) mod (d - 2) = i mod (d - 2))%nat).
      { unfold Model.n. rewrite Nat.add_comm, Nat.mul_comm. apply Nat.mod_add. lia. }
      rewrite Em, Hf by lia. fold q. replace (Nat.ltb (s + i) s) with false by (symmetry; apply Nat.ltb_ge; lia). reflexivity.
  - intros i Hi. unfold in_class. simpl class. rewrite Hf by lia. fold q.
    apply Nat.ltb_lt in Hi. rewrite Hi. reflexivity.
Qed.

(** The value of a column in this row. *)
Lemma count_dot y1 y yd : length y = (d - 2)%nat ->
  dot d (value D (f K D j)) (y1 :: y ++ yd :: nil) =
  a * w * y1 + b c / (INR d - 2) * dot (d - 2) unit y + c * yd.
Proof.
  intros Hy. rewrite (dot_value D count_valid) by assumption. rewrite count_marked.
  change (Sum (size D) (f K D j)) with (Sum n (f K D j)). rewrite count_sum. simpl width. simpl strength. simpl constant.
  f_equal; [f_equal | ring]. rewrite <- dot_scal. apply Sum_ext. intros l Hl.
  rewrite (class_value D K j l) by assumption. rewrite count_class by assumption. simpl constant. unfold unit, Rdiv. ring.
Qed.

End Row.

(** Marked rows have the gain R1, all others R2. *)
Definition count_rows (K : kernels) (R1 R2 : R) : Prop :=
  forall j i, (j < n)%nat -> (i < n)%nat -> let R := if Nat.ltb j s then R1 else R2 in
  f K D j i = (if Nat.ltb i s then R else 1) / (R * INR s + INR n - INR s).

Lemma count_normalised u R1 R2 : 0 < R1 -> 0 < R2 ->
  (forall g, g = 1 \/ g = 1 + a -> 0 < u (g * L n)) ->
  u ((1 + a) * (1 + a) * L n) = R1 * u ((1 + a) * L n) -> u ((1 + a) * L n) = R2 * u (1 * L n) ->
  count_rows (normalised u) R1 R2.
Proof.
  intros H1 H2 Hu E1 E2 j i Hj Hi R. assert (V := count_valid).
  set (g := if Nat.ltb j s then 1 + a else 1).
  assert (HR : 0 < R) by (unfold R; destruct (Nat.ltb j s); assumption).
  assert (P := total_pos R HR).
  assert (Hg : 0 < u (g * L n)) by (apply Hu; unfold g; destruct (Nat.ltb j s); auto).
  assert (U : forall k, (k < n)%nat -> u (score D j k) = u (g * L n) * (if Nat.ltb k s then R else 1)).
  { intros k Hk. rewrite (score_eq D V eq_refl) by assumption. unfold gamma. simpl marked. simpl strength. simpl size.
    fold g. unfold R, g. destruct (Nat.ltb j s), (Nat.ltb k s); rewrite ?Rmult_1_r.
    - rewrite E1. ring.
    - ring.
    - rewrite !Rmult_1_l, E2. rewrite Rmult_1_l. ring.
    - ring. }
  unfold f, everywhere, normalised. simpl size. rewrite U by assumption.
  rewrite (Sum_ext n _ (fun k => u (g * L n) * (if Nat.ltb k s then R else 1))) by assumption.
  rewrite Sum_scal, mark_sum. destruct (Nat.ltb i s); field; split; lra.
Qed.

Lemma heated_rows beta : count_rows (heated beta)
  (Rpower (INR n) (beta * a * (1 + a))) (Rpower (INR n) (beta * a)).
Proof.
  apply count_normalised; try apply exp_pos; try (intros; apply exp_pos);
    unfold Rpower, L; rewrite <- exp_plus; f_equal; ring.
Qed.

Lemma linear_rows : count_rows linear (1 + a) (1 + a).
Proof.
  assert (Ha : 0 < a) by apply C. assert (HL := L_pos D count_valid). simpl size in HL.
  apply count_normalised; try lra; try ring. intros g [-> | ->]; apply Rmult_lt_0_compat; lra.
Qed.

Lemma count_mass_le R R' : 0 < R -> R <= R' -> count_mass rho R <= count_mass rho R'.
Proof.
  intros HR H. destruct rho_range as (Hr & _). unfold count_mass.
  set (x := rho) in *; clearbody x. assert (P : 0 < x * R + 1 - x) by nra. assert (P' : 0 < x * R' + 1 - x) by nra.
  apply Rmult_le_reg_r with ((x * R + 1 - x) * (x * R' + 1 - x)); [apply Rmult_lt_0_compat; assumption|].
  replace (x * R / (x * R + 1 - x) * ((x * R + 1 - x) * (x * R' + 1 - x)))
    with (x * R * (x * R' + 1 - x)) by (field; lra).
  replace (x * R' / (x * R' + 1 - x) * ((x * R + 1 - x) * (x * R' + 1 - x)))
    with (x * R' * (x * R + 1 - x)) by (field; lra).
  assert (0 <= (R' - R) * (x * (1 - x))) by (apply Rmult_le_pos; nra). nra.
Qed.

Lemma count_mass_pos R : 0 < R -> 0 < count_mass rho R.
Proof. intros HR. destruct rho_range as (Hr & _). unfold count_mass. set (x := rho) in *; clearbody x. apply Rdiv_lt_0_compat; nra. Qed.

Section Law.

Variables (K : kernels) (R1 R2 g : R).
Hypothesis H2 : 0 < R2.
Hypothesis H12 : R2 <= R1.
Hypothesis HK : count_rows K R1 R2.

Let w1 := count_mass rho R1.
Let w2 := count_mass rho R2.

Let row1 i (Hi : (i < n)%nat) : f K D 0 i = (if Nat.ltb i s then R1 else 1) / (R1 * INR s + INR n - INR s).
Proof.
  destruct count_sizes as (_ & Hs & _). assert (E := HK O i ltac:(lia) Hi).
  replace (Nat.ltb 0 s) with true in E by (symmetry; apply Nat.ltb_lt; lia). exact E.
Qed.

Let row2 i (Hi : (i < n)%nat) : f K D s i = (if Nat.ltb i s then R2 else 1) / (R2 * INR s + INR n - INR s).
Proof.
  destruct count_sizes as (_ & Hs & _). assert (E := HK s i ltac:(lia) Hi).
  rewrite Nat.ltb_irrefl in E. exact E.
Qed.

(** The law, for rows with two gains. *)
Lemma rows_law :
  let P := fun y1 w yd => mean (all_signs (d - 2)) (fun y =>
    above (g + c * (1 - yd) - a * y1 * w) (b c / (INR d - 2) * dot (d - 2) unit y)) in
  P_column (count_tau g D) K D = 1 / 4 * (P 1 w1 1 + P 1 w1 (-1) + P (-1) w2 1 + P (-1) w2 (-1)).
Proof.
  intros P. destruct count_sizes as (Hd & Hs & _). assert (V := count_valid). assert (Ha : 0 < a) by apply C.
  assert (W : w2 <= w1) by (apply count_mass_le; assumption).
  assert (Rows : forall j, (j < size D)%nat -> alike K D j 0 \/ alike K D j s).
  { intros j Hj. destruct (Nat.ltb j s) eqn:E; [left | right]; apply alike_weights; intros i Hi;
      rewrite (HK j i Hj Hi), E; cbv zeta; symmetry; [apply row1 | apply row2]; assumption. }
  rewrite P_column_hit, (mean_split D V). cbv zeta. simpl width.
  assert (E : forall y1 yd, y1 = 1 \/ y1 = -1 ->
    mean (all_signs (d - 2)) (fun y => hit (count_tau g D) K D (y1 :: y ++ [yd])) = P y1 (if Rlt_dec 0 y1 then w1 else w2) yd).
  { intros y1 yd Hy1. apply mean_ext. intros y Hy. apply all_signs_length in Hy.
    rewrite (hit_two (count_tau g D) K D 0 s _ ltac:(simpl; lia) ltac:(simpl; lia) Rows).
    assert (I : forall w j, dot d (value D (f K D j)) (y1 :: y ++ [yd]) = a * w * y1 + b c / (INR d - 2) * dot (d - 2) unit y + c * yd ->
      above (count_tau g D) (dot (width D) (o K D j) (y1 :: y ++ [yd]))
      = above (g + c * (1 - yd) - a * y1 * w) (b c / (INR d - 2) * dot (d - 2) unit y)).
    { intros w j Ej. apply above_iff. assert (X := exceeds_iff D V (c + g) K j (y1 :: y ++ [yd])).
      unfold count_tau. simpl constant. simpl constant in X. rewrite X. simpl width. rewrite Ej. split; lra. }
    rewrite (I w1 O (count_dot K 0 R1 ltac:(lra) row1 y1 y yd Hy)), (I w2 s (count_dot K s R2 H2 row2 y1 y yd Hy)).
    unfold above. destruct Hy1 as [-> | ->]; destruct (Rlt_dec 0 _) as [Q|Q]; try lra;
      repeat destruct (Rlt_dec _ _); try lra; exfalso; nra. }
  rewrite !E by auto. destruct (Rlt_dec 0 1); [|lra]. destruct (Rlt_dec 0 (-1)); [lra|]. field.
Qed.

Let H (x : R) : R := exp (- (x ^ 2 * (INR d - 2) / (2 * b c ^ 2))).

Lemma width_pos : 1 <= INR d - 2 /\ 0 < b c < 1.
Proof.
  destruct count_sizes as (Hd & _). split; [|exact (b_range D count_valid)].
  assert (E := le_INR 1 (d - 2) Hd). rewrite minus_INR in E by lia. simpl in E. lra.
Qed.

Lemma sum_tail x : 0 < x ->
  mean (all_signs (d - 2)) (fun y => reaches x (b c / (INR d - 2) * dot (d - 2) unit y)) <= H x.
Proof.
  intros Hx. destruct width_pos as (Pd & Pb). destruct count_sizes as (Hd & _).
  set (B := b c ^ 2 / (INR d - 2)).
  assert (HB : 0 < B) by (apply Rdiv_lt_0_compat; [apply pow_lt|]; lra).
  replace (H x) with (exp (- (x ^ 2 / (2 * B)))).
  - rewrite (mean_ext _ _ (fun y => reaches x (dot (d - 2) (fun k => b c / (INR d - 2) * unit k) y)))
      by (intros; rewrite dot_scal; reflexivity).
    apply hoeffding_le; [assumption | assumption |].
    rewrite (Sum_ext _ _ (fun _ => (b c / (INR d - 2)) ^ 2)) by (intros; unfold unit; ring).
    rewrite Sum_const, minus_INR by lia. simpl (INR 2). right. unfold B. field. lra.
  - unfold H, B. do 2 f_equal. field. lra.
Qed.

Lemma rows_silent : a * w1 < g -> P_column (count_tau g D) K D <= H (g - a * w1).
Proof.
  intros Hg. rewrite rows_law. cbv zeta. assert (Hc : 0 < c) by apply C. assert (Ha : 0 < a) by apply C.
  assert (W : 0 < w2 <= w1) by (split; [apply count_mass_pos; assumption | apply count_mass_le; assumption]).
  assert (W1 : 0 < w1 <= w1) by lra.
  assert (T : forall y1 w yd, is_sign y1 -> is_sign yd -> 0 < w <= w1 ->
    mean (all_signs (d - 2)) (fun y => above (g + c * (1 - yd) - a * y1 * w) (b c / (INR d - 2) * dot (d - 2) unit y))
    <= H (g - a * w1)).
  { intros y1 w yd S1 Sd Hw. apply Rle_trans with (2 := sum_tail (g - a * w1) ltac:(lra)).
    apply mean_le; [apply all_signs_not_nil|]. intros y _. apply Rle_trans with (2 := above_le_reaches _ _).
    apply above_mono. assert (0 <= a * (w1 - w)) by (apply Rmult_le_pos; lra). assert (0 < a * w) by (apply Rmult_lt_0_compat; lra).
    destruct S1 as [-> | ->], Sd as [-> | ->]; nra. }
  assert (S1 : is_sign 1) by (left; reflexivity). assert (S2 : is_sign (-1)) by (right; reflexivity).
  assert (T1 := T 1 w1 1 S1 S1 W1). assert (T2 := T 1 w1 (-1) S1 S2 W1).
  assert (T3 := T (-1) w2 1 S2 S1 W). assert (T4 := T (-1) w2 (-1) S2 S2 W). lra.
Qed.

Lemma rows_fire : g < a * w1 ->
  Rmax (1 / 8) (1 / 4 * (1 - H (a * w1 - g))) <= P_column (count_tau g D) K D.
Proof.
  intros Hg. rewrite rows_law. cbv zeta. set (x := a * w1 - g).
  set (P := mean (all_signs (d - 2)) (fun y => above (g + c * (1 - 1) - a * 1 * w1) _)).
  set (P2 := mean _ (fun y => above (g + c * (1 - -1) - a * 1 * w1) _)).
  set (P3 := mean _ (fun y => above (g + c * (1 - 1) - a * -1 * w2) _)).
  set (P4 := mean _ (fun y => above (g + c * (1 - -1) - a * -1 * w2) _)).
  assert (N2 : 0 <= P2) by (apply mean_signs_nonneg; intros; apply above_range).
  assert (N3 : 0 <= P3) by (apply mean_signs_nonneg; intros; apply above_range).
  assert (N4 : 0 <= P4) by (apply mean_signs_nonneg; intros; apply above_range).
  assert (Half : 1 / 2 <= P).
  { apply Rle_trans with (1 := half_nonneg (d - 2) (fun k => b c / (INR d - 2) * unit k)).
    apply mean_le; [apply all_signs_not_nil|]. intros y _. rewrite dot_scal. unfold above, reaches.
    destruct (Rle_dec _ _), (Rlt_dec _ _); lra. }
  assert (Tail : 1 - H x <= P).
  { assert (T := sum_tail x ltac:(unfold x; lra)).
    rewrite <- (mean_signs_opp (d - 2) (fun y => reaches x (b c / (INR d - 2) * dot (d - 2) unit y))) in T.
    assert (1 <= P + mean (all_signs (d - 2)) (fun y => reaches x (b c / (INR d - 2) * dot (d - 2) unit (map Ropp y)))); [|lra].
    unfold P. rewrite <- mean_plus.
    apply Rle_trans with (mean (all_signs (d - 2)) (fun _ => 1)); [rewrite mean_const by apply all_signs_not_nil; lra|].
    apply mean_le; [apply all_signs_not_nil|]. intros y _. rewrite dot_opp.
    set (z := b c / (INR d - 2)). set (u := dot (d - 2) unit y).
    assert (E : z * - u = - (z * u)) by ring. rewrite E. unfold above, reaches.
    destruct (Rlt_dec _ _), (Rle_dec _ _); unfold x in *; lra. }
  apply Rmax_lub; lra.
Qed.

End Law.

Lemma softmax_rows : count_rows softmax (Rpower (INR n) (a * (1 + a))) (Rpower (INR n) a).
Proof.
  apply count_normalised; try apply exp_pos; try (intros; apply exp_pos);
    unfold Rpower, L; rewrite <- exp_plus; f_equal; ring.
Qed.

Lemma softmax_gains : Rpower (INR n) a <= Rpower (INR n) (a * (1 + a)).
Proof.
  assert (HN := size_ge_2 D count_valid). simpl size in HN. assert (Ha : 0 < a) by apply C.
  apply Rle_Rpower; nra.
Qed.

(** [count-values] *)
Theorem count_values j k : (j < n)%nat -> (k < d)%nat ->
  let value := fun gain => let w := count_mass rho gain in
    if Nat.eqb k 0 then a * w else if Nat.eqb k (d - 1) then c else b c / (INR d - 2) in
  o softmax D j k / sqrt (L n) =
    value (if Nat.ltb j s then Rpower (INR n) (a * (1 + a)) else Rpower (INR n) a) /\
  o linear D j k / sqrt (L n) = value (1 + a).
Proof.
  intros Hj Hk value. assert (V := count_valid). assert (Ha : 0 < a) by apply C.
  assert (HR := Rows.root_pos D V). simpl size in HR. destruct count_sizes as (Hd & _).
  assert (G : forall K gain, 0 < gain ->
    (forall i, (i < n)%nat -> f K D j i = (if Nat.ltb i s then gain else 1) / (gain * INR s + INR n - INR s)) ->
    o K D j k / sqrt (L n) = value gain).
  { intros K gain Hg Hf. rewrite (o_eq D V) by assumption. simpl size.
    replace (sqrt (L n) * Rows.value D (f K D j) k / sqrt (L n)) with (Rows.value D (f K D j) k) by (field; lra).
    unfold value, Rows.value. destruct k as [|l];
      [change (Nat.eqb 0 0) with true | change (Nat.eqb (S l) 0) with false]; cbv iota.
    - rewrite (count_marked K j gain Hg Hf). reflexivity.
    - simpl width. destruct (Nat.eqb l (d - 2)) eqn:E.
      + apply Nat.eqb_eq in E. replace (Nat.eqb (S l) (d - 1)) with true by (symmetry; apply Nat.eqb_eq; lia).
        change (Sum (size D) (f K D j)) with (Sum n (f K D j)). rewrite (count_sum K j gain Hg Hf). simpl constant. ring.
      + apply Nat.eqb_neq in E. replace (Nat.eqb (S l) (d - 1)) with false by (symmetry; apply Nat.eqb_neq; lia).
        rewrite (count_class K j gain Hg Hf) by lia. simpl constant. unfold Rdiv. ring. }
  split.
  - apply G; [destruct (Nat.ltb j s); apply exp_pos|]. intros i Hi. exact (softmax_rows j i Hj Hi).
  - apply G; [lra|]. intros i Hi. assert (E := linear_rows j i Hj Hi). destruct (Nat.ltb j s); exact E.
Qed.

(** [count-law], for any gap g; an equality does not fire. *)
Theorem count_law g :
  let law := fun w1 w2 =>
    let P := fun y1 w yd => mean (all_signs (d - 2)) (fun y =>
      above (g + c * (1 - yd) - a * y1 * w) (b c / (INR d - 2) * dot (d - 2) (fun _ => 1) y)) in
    1 / 4 * (P 1 w1 1 + P 1 w1 (-1) + P (-1) w2 1 + P (-1) w2 (-1)) in
  P_column (count_tau g D) softmax D =
    law (count_mass rho (Rpower (INR n) (a * (1 + a)))) (count_mass rho (Rpower (INR n) a)) /\
  P_column (count_tau g D) linear D = law (count_mass rho (1 + a)) (count_mass rho (1 + a)).
Proof.
  assert (Ha : 0 < a) by apply C. split.
  - exact (rows_law softmax _ _ g (exp_pos _) softmax_gains softmax_rows).
  - exact (rows_law linear (1 + a) (1 + a) g ltac:(lra) (Rle_refl _) linear_rows).
Qed.

End Counting.

(** ** The gap between rho = 1/4 and 3/4 *)

Section Gap.

Variable a : R.
Hypothesis Ha : 0 < a.

Let K := (1 + a) * (8 + 3 * a) / (8 + 5 * a).

Lemma gap_share : count_gap a = a * ((1 + a) * (8 + 3 * a) / ((4 + a) * (4 + 3 * a))).
Proof using Ha. unfold count_gap, count_mass. field. repeat split; lra. Qed.

Lemma mass_gap rho gain : 0 < rho < 1 -> 0 < gain ->
  count_mass rho gain - count_gap a / a =
  rho * (1 - count_gap a / a) * (gain - K * (1 - rho) / rho) / (rho * gain + 1 - rho).
Proof using Ha.
  intros Hr Hg. rewrite gap_share. unfold count_mass, K.
  assert (0 < rho * gain) by (apply Rmult_lt_0_compat; lra). field. repeat split; lra.
Qed.

Lemma gap_range : 0 < count_gap a / a < 1.
Proof using Ha.
  rewrite gap_share. replace (a * ((1 + a) * (8 + 3 * a) / ((4 + a) * (4 + 3 * a))) / a)
    with (((1 + a) * (8 + 3 * a)) / ((4 + a) * (4 + 3 * a))) by (field; lra).
  assert (P : 0 < (4 + a) * (4 + 3 * a)) by nra. split.
  - apply Rdiv_lt_0_compat; nra.
  - apply Rmult_lt_reg_r with ((4 + a) * (4 + 3 * a)); [assumption|].
    unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra.
Qed.

Lemma mass_above rho gain : 0 < rho < 1 -> 0 < gain -> K * (1 - rho) / rho < gain -> count_gap a < a * count_mass rho gain.
Proof using Ha.
  intros Hr Hg H. assert (E := mass_gap rho gain Hr Hg). assert (G := gap_range).
  assert (P : 0 < rho * gain + 1 - rho) by (assert (0 < rho * gain) by (apply Rmult_lt_0_compat; lra); lra).
  assert (0 < count_mass rho gain - count_gap a / a).
  { rewrite E. apply Rdiv_lt_0_compat; [|assumption]. repeat apply Rmult_lt_0_compat; lra. }
  replace (count_gap a) with (a * (count_gap a / a)) by (field; lra). apply Rmult_lt_compat_l; lra.
Qed.

Lemma mass_below rho gain : 0 < rho < 1 -> 0 < gain -> gain < K * (1 - rho) / rho -> a * count_mass rho gain < count_gap a.
Proof using Ha.
  intros Hr Hg H. assert (E := mass_gap rho gain Hr Hg). assert (G := gap_range).
  assert (P : 0 < rho * gain + 1 - rho) by (assert (0 < rho * gain) by (apply Rmult_lt_0_compat; lra); lra).
  assert (0 < count_gap a / a - count_mass rho gain).
  { replace (count_gap a / a - count_mass rho gain)
      with (rho * (1 - count_gap a / a) * (K * (1 - rho) / rho - gain) / (rho * gain + 1 - rho)).
    - apply Rdiv_lt_0_compat; [|assumption]. repeat apply Rmult_lt_0_compat; lra.
    - rewrite <- (Ropp_minus_distr (count_mass rho gain)), E. unfold Rdiv. ring. }
  replace (count_gap a) with (a * (count_gap a / a)) by (field; lra). apply Rmult_lt_compat_l; lra.
Qed.

Lemma K_near : 3 / 5 * (1 + a) < K < 1 + a /\ K / 3 < 1 + a < 3 * K.
Proof using Ha.
  assert (E : K * (8 + 5 * a) = (1 + a) * (8 + 3 * a)) by (unfold K; field; lra).
  assert (H1 : 3 / 5 * (1 + a) < K) by (apply Rmult_lt_reg_r with (8 + 5 * a); nra).
  assert (H2 : K < 1 + a) by (apply Rmult_lt_reg_r with (8 + 5 * a); nra). lra.
Qed.

End Gap.

Lemma quarter d t q a c : count_conditions d t q a c -> (t = 4 * q)%nat -> INR q / INR t = 1 / 4.
Proof.
  intros (_ & Hq & _) ->. rewrite mult_INR. destruct Hq as (Hq & _). apply (le_INR 1) in Hq. simpl in *. field. lra.
Qed.

Lemma three_quarters d t q a c : count_conditions d t (3 * q) a c -> (t = 4 * q)%nat -> INR (3 * q) / INR t = 3 / 4.
Proof.
  intros (_ & Hq & _) ->. rewrite !mult_INR. destruct Hq as (Hq & _). assert (H : (1 <= q)%nat) by lia.
  apply (le_INR 1) in H. simpl in *. field. lra.
Qed.

(** [counting-linear], but for the instance that attains 1/8: see [counting_eighth_is_attained]. *)
Theorem counting_linear d t q a c : (t = 4 * q)%nat ->
  count_conditions d t q a c -> count_conditions d t (3 * q) a c ->
  let w := fun rho => count_mass rho (1 + a) in
  let s := a / 2 * (w (3 / 4) - w (1 / 4)) in
  let H := fun s => exp (- (s ^ 2 * (INR d - 2) / (2 * b c ^ 2))) in
  let D1 := count_data d t (n d q) a c in
  let D3 := count_data d t (n d (3 * q)) a c in
  let g := count_gap a in
  (forall m, P_fires (count_tau g D1) linear D1 m <= INR m * H s) /\
  Rmax (1 / 8) (1 / 4 * (1 - H s)) <= P_column (count_tau g D3) linear D3 /\
  (forall m, 1 - (7 / 8) ^ m <= P_fires (count_tau g D3) linear D3 m).
Proof.
  intros Ht C1 C3 w s H D1 D3 g. assert (Ha : 0 < a) by apply C1.
  assert (E1 := quarter d t q a c C1 Ht). assert (E3 := three_quarters d t q a c C3 Ht).
  assert (Es1 : g - a * w (1 / 4) = s) by (unfold g, count_gap, s, w; field).
  assert (Es3 : a * w (3 / 4) - g = s) by (unfold g, count_gap, s, w; field).
  assert (Hs : 0 < s).
  { unfold s, w, count_mass.
    replace (3 / 4 * (1 + a) / (3 / 4 * (1 + a) + 1 - 3 / 4) - 1 / 4 * (1 + a) / (1 / 4 * (1 + a) + 1 - 1 / 4))
      with (8 * (1 + a) / ((4 + 3 * a) * (4 + a))) by (field; repeat split; lra).
    apply Rmult_lt_0_compat; [lra|]. apply Rdiv_lt_0_compat; nra. }
  split.
  - intros m. apply P_fires_le_bound. rewrite <- Es1. unfold w. rewrite <- E1.
    apply (rows_silent d t q a c C1 linear (1 + a) (1 + a) g ltac:(lra) (Rle_refl _) (linear_rows d t q a c C1)).
    rewrite E1. fold (w (1 / 4)). lra.
  - assert (F : Rmax (1 / 8) (1 / 4 * (1 - H s)) <= P_column (count_tau g D3) linear D3).
    { rewrite <- Es3. unfold w. rewrite <- E3.
      apply (rows_fire d t (3 * q) a c C3 linear (1 + a) (1 + a) g ltac:(lra) (Rle_refl _) (linear_rows d t (3 * q) a c C3)).
      rewrite E3. fold (w (3 / 4)). lra. }
    split; [exact F|]. intros m. apply P_fires_ge; [lra|].
    assert (M := Rmax_l (1 / 8) (1 / 4 * (1 - H s))). lra.
Qed.

(** [counting-softmax] *)
Theorem counting_softmax d t q r a c : (t = 4 * q)%nat -> r = q \/ r = (3 * q)%nat ->
  count_conditions d t r a c ->
  let K := (1 + a) * (8 + 3 * a) / (8 + 5 * a) in
  let rho := INR r / INR t in
  let D := count_data d t (n d r) a c in
  let g := count_gap a in
  let s := a * count_mass rho (Rpower (INR (n d t)) (a * (1 + a))) - g in
  let H := fun s => exp (- (s ^ 2 * (INR d - 2) / (2 * b c ^ 2))) in
  (Rpower (INR (n d t)) (a * (1 + a)) > 3 * K <-> INR (n d t) > Rpower (3 * K) (1 / (a * (1 + a)))) /\
  (Rpower (INR (n d t)) (a * (1 + a)) > 3 * K ->
   0 < s /\ Rmax (1 / 8) (1 / 4 * (1 - H s)) <= P_column (count_tau g D) softmax D /\
   forall m, 1 - (7 / 8) ^ m <= P_fires (count_tau g D) softmax D m).
Proof.
  intros Ht Hr C K rho D g s H. assert (Ha : 0 < a) by apply C.
  assert (HN : 2 <= INR (n d t)) by exact (size_ge_2 D (count_valid d t r a c C)).
  assert (HK := K_near a Ha). fold K in HK.
  assert (Hk : 0 < a * (1 + a)) by nra. split.
  - set (x := INR (n d t)) in *. split; intros E.
    + apply Rlt_le_trans with (Rpower (Rpower x (a * (1 + a))) (1 / (a * (1 + a)))).
      * apply Rlt_Rpower_l; [apply Rdiv_lt_0_compat; lra | lra].
      * rewrite Rpower_mult. replace (a * (1 + a) * (1 / (a * (1 + a)))) with 1 by (field; lra). rewrite Rpower_1; lra.
    + replace (3 * K) with (Rpower (Rpower (3 * K) (1 / (a * (1 + a)))) (a * (1 + a))).
      * apply Rlt_Rpower_l; [assumption | split; [apply exp_pos | assumption]].
      * rewrite Rpower_mult. replace (1 / (a * (1 + a)) * (a * (1 + a))) with 1 by (field; lra). apply Rpower_1. lra.
  - intros HR. destruct (rho_range d t r a c C) as (Hrho & _). fold rho in Hrho.
    assert (Krho : K * (1 - rho) / rho <= 3 * K).
    { assert (Q : 1 / 4 <= rho).
      { unfold rho. destruct Hr as [-> | ->].
        - rewrite (quarter d t q a c C Ht). lra.
        - rewrite (three_quarters d t q a c C Ht). lra. }
      apply Rmult_le_reg_r with rho; [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra. }
    assert (S0 : 0 < s).
    { assert (M := mass_above a Ha rho (Rpower (INR (n d t)) (a * (1 + a))) Hrho (exp_pos _) ltac:(fold K; lra)).
      unfold s, g. lra. }
    split; [assumption|].
    assert (F : Rmax (1 / 8) (1 / 4 * (1 - H s)) <= P_column (count_tau g D) softmax D).
    { apply (rows_fire d t r a c C softmax _ _ g (exp_pos _) (softmax_gains d t r a c C) (softmax_rows d t r a c C)).
      unfold s in S0. fold rho. lra. }
    split; [exact F|]. intros m. apply P_fires_ge; [lra|].
    assert (M := Rmax_l (1 / 8) (1 / 4 * (1 - H s))). lra.
Qed.

(** [counting-window]; K_rho is 3 K at rho = 1/4 and K / 3 at 3/4. *)
Theorem counting_window d t q r a c beta : (t = 4 * q)%nat -> r = q \/ r = (3 * q)%nat ->
  count_conditions d t r a c -> 0 <= beta ->
  let K := (1 + a) * (8 + 3 * a) / (8 + 5 * a) in
  let K_rho := if Nat.eqb r q then 3 * K else K / 3 in
  let D := count_data d t (n d r) a c in
  let g := count_gap a in
  let gain := Rpower (INR (n d t)) (beta * a * (1 + a)) in
  let w := count_mass (INR r / INR t) gain in
  let H := fun s => exp (- (s ^ 2 * (INR d - 2) / (2 * b c ^ 2))) in
  let has_gain := fun (K : kernel) j R =>
    forall i i', (i < n d t)%nat -> (i' < n d t)%nat -> marked D i = true -> marked D i' = false ->
    f K D j i = R * f K D j i' in
  (forall j, (j < n d t)%nat -> marked D j = true ->
    has_gain (heated beta) j gain /\
    Sum (n d t) (fun i => if marked D i then f (heated beta) D j i else 0) = w) /\
  (gain < K_rho -> P_column (count_tau g D) (heated beta) D <= H (g - a * w)) /\
  (K_rho < gain -> Rmax (1 / 8) (1 / 4 * (1 - H (a * w - g))) <= P_column (count_tau g D) (heated beta) D) /\
  (forall j, (j < n d t)%nat -> has_gain linear j (1 + a)) /\
  K / 3 < 1 + a < 3 * K.
Proof.
  intros Ht Hr C Hb K K_rho D g gain w H has_gain. assert (Ha : 0 < a) by apply C.
  assert (HN : 2 <= INR (n d t)) by exact (size_ge_2 D (count_valid d t r a c C)).
  destruct (rho_range d t r a c C) as (Hrho & _).
  assert (Krho : K * (1 - INR r / INR t) / (INR r / INR t) = K_rho).
  { assert (Hq : (1 <= q)%nat) by (destruct Hr as [-> | ->]; destruct C as (_ & Hq & _); lia). unfold K_rho.
    destruct Hr as [-> | ->].
    - rewrite (quarter d t q a c C Ht), Nat.eqb_refl. field.
    - rewrite (three_quarters d t q a c C Ht). replace (Nat.eqb (3 * q) q) with false by (symmetry; apply Nat.eqb_neq; lia). field. }
  assert (Le : Rpower (INR (n d t)) (beta * a) <= gain).
  { apply Rle_Rpower; [lra|]. assert (0 <= beta * a) by (apply Rmult_le_pos; lra). nra. }
  assert (Gain : forall (K : kernel) j R, 0 < R ->
    (forall i, (i < n d t)%nat -> f K D j i = (if Nat.ltb i (n d r) then R else 1) / (R * INR (n d r) + INR (n d t) - INR (n d r))) ->
    has_gain K j R).
  { intros K' j R HR Hf i i' Hi Hi' Mi Mi'. change (Nat.ltb i (n d r) = true) in Mi.
    change (Nat.ltb i' (n d r) = false) in Mi'. rewrite !Hf by assumption. rewrite Mi, Mi'.
    assert (P := total_pos d t r a c C R HR). field. lra. }
  split; [|split; [|split; [|split]]].
  - intros j Hj Mj. change (Nat.ltb j (n d r) = true) in Mj.
    assert (Hf := fun i => heated_rows d t r a c C beta j i Hj). cbv zeta in Hf. rewrite Mj in Hf.
    split; [apply Gain; [apply exp_pos | exact Hf]|].
    exact (count_marked d t r a c C (heated beta) j gain (exp_pos _) Hf).
  - intros Hg. apply (rows_silent d t r a c C (heated beta) gain _ g (exp_pos _) Le (heated_rows d t r a c C beta)).
    apply mass_below; try assumption; [apply exp_pos|]. fold K. rewrite Krho. assumption.
  - intros Hg. apply (rows_fire d t r a c C (heated beta) gain _ g (exp_pos _) Le (heated_rows d t r a c C beta)).
    apply mass_above; try assumption; [apply exp_pos|]. fold K. rewrite Krho. assumption.
  - intros j Hj. apply Gain; [lra|]. intros i Hi. assert (E := linear_rows d t r a c C j i Hj Hi).
    destruct (Nat.ltb j (n d r)); exact E.
  - apply (K_near a Ha).
Qed.

(** [counting-linear], "is attained": a = 1, c = 1/2, d = 3, t = 4. *)
Theorem counting_eighth_is_attained :
  let D3 := count_data 3 4 (n 3 3) 1 (1 / 2) in
  count_conditions 3 4 3 1 (1 / 2) /\ P_column (count_tau (count_gap 1) D3) linear D3 = 1 / 8.
Proof.
  intros D3. assert (C : count_conditions 3 4 3 1 (1 / 2))
    by (repeat split; unfold n; simpl; try lia; try lra).
  split; [assumption|].
  assert (E := proj2 (count_law 3 4 3 1 (1 / 2) C (count_gap 1))). fold D3 in E. rewrite E. clear E.
  assert (M : forall x, mean (all_signs (3 - 2)) (fun y => above x (b (1 / 2) / (INR 3 - 2) * dot (3 - 2) (fun _ => 1) y))
    = 1 / 2 * above x (1 / 2) + 1 / 2 * above x (- (1 / 2))).
  { intros x. rewrite mean_total. unfold total, dot, b. simpl.
    replace ((1 - 1 / 2) / (1 + 1 + 1 - 2) * (0 + 1 * 1)) with (1 / 2) by field.
    replace ((1 - 1 / 2) / (1 + 1 + 1 - 2) * (0 + 1 * -1)) with (- (1 / 2)) by field. field. }
  cbv beta zeta. rewrite !M. unfold count_gap, count_mass.
  replace (INR 3 / INR 4) with (3 / 4) by (simpl; field).
  unfold above. repeat (destruct (Rlt_dec _ _); try lra).
Qed.
