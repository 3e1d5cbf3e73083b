(** * Any kernel: does the mark decide?

    Proved here: a row that gives the marked token a weight w with (a + b) w > 0.1
    fires with at least 1/16, and rows with less fall silent, for every kernel;
    powers of the score and their window of degrees; hard attention. *)

From Coq Require Import Reals List Arith Bool Lra Lia Psatz.
Require Import Model Signs Rows Attention Golden Main Law.
Import ListNotations.
Open Scope R_scope.

Section Decides.

Variables (d t jstar : nat) (a c : R).
Hypothesis C : token_conditions d t jstar a c.

Notation D := (token_data d t jstar a c).
Notation n := (n d t).

Let V : conditions D := token_valid d t jstar a c C.
Let Hj : (jstar < size D)%nat := token_jstar d t jstar a c C.
Let Hm : forall i, marked D i = Nat.eqb i jstar := token_marked d t jstar a c.

(** [mark-decides-fires]: for all kernels whose row j has no negative weight and the
    sum 1; it need not see all tokens, nor give ordinary ones the same weight. *)
Theorem mark_decides_fires K j : (j < n)%nat ->
  (forall i, (i < n)%nat -> 0 <= f K D j i) -> Sum n (f K D j) = 1 ->
  1 / 10 < (a + b c) * f K D j jstar ->
  1 / 16 <= P_column (tau D) K D /\ forall m, 1 - (15 / 16) ^ m <= P_fires (tau D) K D m.
Proof.
  intros Hjn W0 W1 H. assert (W : shares D (f K D j)) by (split; assumption).
  assert (H16 : 1 / 16 <= P_column (tau D) K D).
  { apply Rle_trans with (P_row (tau D) K D j); [|apply P_column_ge; assumption].
    apply (row_fires_sixteenth D V (1 / 10) K j W (class D jstar)).
    - apply V. assumption.
    - assert (M1 := mass_ge D K j W (marked D) jstar Hj ltac:(rewrite Hm; apply Nat.eqb_refl)).
      assert (M2 := mass_ge D K j W (in_class D (class D jstar)) jstar Hj (Nat.eqb_refl _)).
      assert (Ha : 0 <= a) by apply C. assert (Hb := b_range D V). simpl constant in *. simpl strength.
      apply Rlt_le_trans with (1 := H). rewrite Rmult_plus_distr_r.
      apply Rplus_le_compat; apply Rmult_le_compat_l; lra. }
  split; [assumption|]. intros m. apply P_fires_ge; lra.
Qed.

(** [mark-decides-fires]: what (a + b) w > 0.1 says of a gain R over N - 1 other tokens. *)
Theorem mark_decides_gain R N : 0 < R -> 1 <= N ->
  (1 / 10 < (a + b c) * (R / (R + N - 1)) <->
   1 / 10 < a + b c /\ (N - 1) / (10 * (a + b c) - 1) < R).
Proof.
  intros HR HN. set (s := a + b c).
  assert (E : s * (R / (R + N - 1)) * (R + N - 1) = s * R) by (field; lra). split; intros H.
  - assert (H' : 1 / 10 * (R + N - 1) < s * R) by (rewrite <- E; apply Rmult_lt_compat_r; lra).
    assert (Hs : 1 / 10 < s) by nra. split; [assumption|].
    apply Rmult_lt_reg_r with (10 * s - 1); [lra|].
    unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
  - destruct H as [Hs H]. apply (Rmult_lt_compat_r (10 * s - 1)) in H; [|lra].
    unfold Rdiv in H. rewrite Rmult_assoc, Rinv_l in H by lra.
    apply Rmult_lt_reg_r with (R + N - 1); [lra|]. rewrite E. lra.
Qed.

(** [mark-decides-fires]: of N tokens that row j sees, the marked one has the gain R over
    each other one; the row gives nothing to tokens that it does not see. *)
Theorem mark_decides_visible K j (visible : nat -> bool) R :
  let N := INR (number n visible) in
  (j < n)%nat -> visible jstar = true -> 0 < R ->
  (forall i, (i < n)%nat ->
    f K D j i = if visible i then (if Nat.eqb i jstar then R else 1) / (R + N - 1) else 0) ->
  1 / 10 < a + b c -> (N - 1) / (10 * (a + b c) - 1) < R ->
  f K D j jstar = R / (R + N - 1) /\
  1 / 16 <= P_column (tau D) K D /\ forall m, 1 - (15 / 16) ^ m <= P_fires (tau D) K D m.
Proof.
  intros N Hjn Hv HR Hf Hs Hg.
  assert (EN : Sum n (fun i => if visible i then 1 else 0) = N) by exact (class_size_filter n visible 0).
  assert (HN : 1 <= N).
  { rewrite <- EN. assert (H := Sum_ge_one n jstar (fun i => if visible i then 1 else 0) Hj).
    cbv beta in H. rewrite Hv in H. apply H. intros i _. destruct (visible i); lra. }
  assert (Hq : 0 < R + N - 1) by lra.
  assert (W : f K D j jstar = R / (R + N - 1)) by (rewrite Hf, Hv, Nat.eqb_refl by exact Hj; reflexivity).
  split; [exact W|]. apply (mark_decides_fires K j Hjn).
  - intros i Hi. rewrite Hf by assumption. destruct (visible i); [|lra].
    apply Rmult_le_pos; [destruct (Nat.eqb i jstar); lra | left; apply Rinv_0_lt_compat; assumption].
  - rewrite (Sum_ext n _ (fun i => / (R + N - 1) * (if visible i then 1 else 0) +
      (if Nat.eqb i jstar then (R - 1) / (R + N - 1) else 0))).
    + rewrite Sum_plus, Sum_scal, EN, (Sum_one n jstar (fun i => if Nat.eqb i jstar then (R - 1) / (R + N - 1) else 0) 0 Hj).
      * rewrite Nat.eqb_refl. field. lra.
      * intros i _ Hi. replace (Nat.eqb i jstar) with false by (symmetry; apply Nat.eqb_neq; assumption). reflexivity.
    + intros i Hi. rewrite Hf by assumption. destruct (Nat.eqb i jstar) eqn:E.
      * apply Nat.eqb_eq in E. subst i. rewrite Hv. field. lra.
      * destruct (visible i); field; lra.
  - rewrite W. apply mark_decides_gain; [assumption | assumption | split; assumption].
Qed.

Definition silence (w : R) : R :=
  let s := (1 / 10 - (a + b c) * w) / b c * sqrt (INR d - 2) * (1 - 1 / INR n) in exp (- (s ^ 2 / 2)).

Lemma row_silence K j w : 0 <= w <= 1 ->
  (forall i, (i < n)%nat -> f K D j i = spread n jstar w i) ->
  (a + b c) * w < 1 / 10 -> P_row (tau D) K D j <= silence w.
Proof.
  intros Hw Hf H. destruct (token_sizes d t jstar a c C) as (Hd & Ht).
  assert (HN : 2 <= INR n) by exact (size_ge_2 D V). assert (Hb := b_range D V). simpl constant in Hb.
  set (ks := (jstar mod (d - 2))%nat). assert (Hks : (ks < d - 2)%nat) by (apply Nat.mod_upper_bound; lia).
  set (r := (1 - w) / (INR n - 1)).
  assert (Hr : 0 <= r <= 1 / (INR n - 1)).
  { split; [apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; lra]|].
    apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra | lra]. }
  assert (Ht1 : 1 <= INR t) by (apply (le_INR 1); assumption).
  assert (Hd2 : 1 <= INR d - 2).
  { assert (E := le_INR 1 (d - 2) Hd). rewrite minus_INR in E by lia. simpl in E. lra. }
  assert (Hn : INR n = (INR d - 2) * INR t).
  { unfold Model.n. rewrite mult_INR, minus_INR by lia. reflexivity. }
  assert (W : shares D (f K D j)) by exact (row_shares D jstar V Hj K j w Hw Hf).
  set (v := fun l => b c * r * (INR t - if Nat.eqb l ks then 1 else 0)).
  set (B := b c ^ 2 * (INR n / (INR n - 1)) ^ 2 / (INR d - 2)).
  assert (HB : 0 < B).
  { apply Rdiv_lt_0_compat; [|lra]. apply Rmult_lt_0_compat; apply pow_lt; [lra|].
    apply Rdiv_lt_0_compat; lra. }
  assert (Val : forall l, (l < d - 2)%nat ->
    value D (f K D j) (S l) = v l + (if Nat.eqb l ks then b c * w else 0)).
  { intros l Hl. rewrite (class_value D K j l) by assumption.
    rewrite (row_class D jstar Hj K j w Hf), (token_class_size d t jstar a c) by assumption.
    simpl class. fold ks r. simpl constant. simpl size. fold r. unfold v.
    destruct (Nat.eqb l ks); ring. }
  assert (HN2 : Sum (width D - 2) (fun l => v l ^ 2) <= B).
  { simpl width. apply Rle_trans with (Sum (d - 2) (fun _ => b c ^ 2 * (INR t / (INR n - 1)) ^ 2)).
    - apply Sum_le. intros l _. unfold v. rewrite <- Rpow_mult_distr. apply pow_incr. split.
      + apply Rmult_le_pos; [apply Rmult_le_pos; lra|]. destruct (Nat.eqb l ks); lra.
      + rewrite Rmult_assoc. apply Rmult_le_compat_l; [lra|].
        apply Rle_trans with (1 / (INR n - 1) * INR t).
        * apply Rmult_le_compat; try lra; destruct (Nat.eqb l ks); lra.
        * right. field. lra.
    - rewrite Sum_const, minus_INR by lia. simpl (INR 2). right. unfold B. rewrite Hn at 2. field. lra. }
  assert (HT : forall y, In y (all_signs (width D - 2)) ->
    strength D * mass D (marked D) (f K D j) + dot (width D - 2) (fun l => value D (f K D j) (S l)) y
    <= (a + b c) * w + dot (width D - 2) v y).
  { simpl width. simpl strength. intros y Hy. rewrite (row_mark D jstar Hm Hj K j w Hf).
    replace (dot (d - 2) (fun l => value D (f K D j) (S l)) y)
      with (dot (d - 2) v y + b c * w * nth ks y 0).
    - assert (P : 0 <= b c * w) by (apply Rmult_le_pos; lra).
      destruct (sign_nth (d - 2) y ks Hy Hks) as [-> | ->]; lra.
    - unfold dot. rewrite (Sum_ext (d - 2) (fun l => value D (f K D j) (S l) * nth l y 0)
        (fun l => v l * nth l y 0 + (if Nat.eqb l ks then b c * w * nth ks y 0 else 0))).
      + rewrite Sum_plus, (Sum_one (d - 2) ks (fun l => if Nat.eqb l ks then b c * w * nth ks y 0 else 0) 0);
          [rewrite Nat.eqb_refl; ring | assumption |].
        intros l _ Hl. replace (Nat.eqb l ks) with false by (symmetry; apply Nat.eqb_neq; assumption). reflexivity.
      + intros l Hl. rewrite Val by assumption. destruct (Nat.eqb l ks) eqn:El; [apply Nat.eqb_eq in El; subst l|]; ring. }
  apply Rle_trans with (1 := row_silent D V (1 / 10) K j W v ((a + b c) * w) B H HB HN2 HT).
  right. unfold silence. f_equal. f_equal.
  assert (Sq := sqrt_sqrt (INR d - 2) ltac:(lra)).
  replace (((1 / 10 - (a + b c) * w) / b c * sqrt (INR d - 2) * (1 - 1 / INR n)) ^ 2)
    with (((1 / 10 - (a + b c) * w) / b c) ^ 2 * (sqrt (INR d - 2) * sqrt (INR d - 2)) * (1 - 1 / INR n) ^ 2) by ring.
  rewrite Sq. unfold B. field. repeat split; lra.
Qed.

(** [mark-decides-silent]: two kinds of rows, or one. *)
Theorem mark_decides_silent K w1 w2 : sees K D jstar w1 w2 -> 0 <= w1 <= 1 -> 0 <= w2 <= 1 ->
  (a + b c) * w1 < 1 / 10 -> (a + b c) * w2 < 1 / 10 ->
  let s := fun w => (1 / 10 - (a + b c) * w) / b c * sqrt (INR d - 2) * (1 - 1 / INR n) in
  P_column (tau D) K D <= exp (- (s w1 ^ 2 / 2)) + exp (- (s w2 ^ 2 / 2)) /\
  (w1 = w2 -> P_column (tau D) K D <= exp (- (s w1 ^ 2 / 2))).
Proof.
  intros S H1 H2 B1 B2 s. destruct (exists_other D jstar V) as (j0 & Hj0 & E0).
  assert (R1 : P_row (tau D) K D jstar <= silence w1)
    by (apply row_silence; [assumption | exact (own_row D jstar Hj K w1 w2 S) | assumption]).
  split.
  - apply Rle_trans with (1 := P_column_two (tau D) K D jstar j0 Hj Hj0
      (rows_alike D jstar K w1 w2 S j0 Hj0 E0)).
    apply Rplus_le_compat; [exact R1|]. apply row_silence; [assumption | | assumption].
    intros i Hi. exact (other_rows D jstar K w1 w2 S j0 i Hj0 E0 Hi).
  - intros E. rewrite (P_column_one (tau D) K D jstar Hj (rows_equal D jstar Hj K w1 w2 S E)). exact R1.
Qed.

(** ** Degrees *)

(** [kernel-weights], in part: every degree. *)
Theorem degree_sees beta :
  let w := Rpower (1 + a) beta / (Rpower (1 + a) beta + INR n - 1) in sees (degree beta) D jstar w w.
Proof.
  intros w j i Hjn Hi. replace (if Nat.eqb j jstar then w else w) with w by (destruct (Nat.eqb j jstar); reflexivity).
  assert (Ha : 0 <= a) by apply C. assert (HL := L_pos D V). assert (G := gamma_ge_1 D V j).
  apply (normalised_sees D jstar V Hm Hj); try assumption; try reflexivity.
  - apply exp_pos.
  - left. apply exp_pos.
  - assert (P : 0 < gamma D j * L n) by (apply Rmult_lt_0_compat; [lra | exact HL]).
    change (Rpower (gamma D j * (1 + a) * L n) beta = Rpower (1 + a) beta * Rpower (gamma D j * L n) beta).
    rewrite Rpower_mult_distr by lra. f_equal. ring.
Qed.

End Decides.

(** [mark-decides-fires], "is attained": linear attention at a = 0.15, c = 0.85, n = 2, d = 4. *)
Theorem one_sixteenth_is_attained :
  let D := token_data 4 1 0 (15 / 100) (85 / 100) in
  1 / 10 < (15 / 100 + b (85 / 100)) * f linear D O O /\ P_column (tau D) linear D = 1 / 16.
Proof.
  intros D. assert (C : token_conditions 4 1 0 (15 / 100) (85 / 100))
    by (repeat split; unfold n; simpl; try lia; try lra).
  assert (N2 : INR (n 4 1) = 2) by (unfold n; simpl; ring). split.
  - destruct (lemma_d_2_weights _ _ _ _ _ C) as (_ & S). unfold D.
    rewrite S by (simpl; unfold n; simpl; lia). unfold spread. simpl Nat.eqb. cbv iota.
    rewrite N2. unfold p_lin, b. lra.
  - destruct (column_law _ _ _ _ _ C) as (_ & E). fold D in E. rewrite E, N2. clear E.
    assert (B : forall x, binomial_above (4 - 3) x = 1 / 2 * above x 0 + 1 / 2 * above x 1).
    { intros x. unfold binomial_above. simpl Sum. rewrite C_0, (C_n 1). simpl. field. }
    assert (Half : forall x, 0 <= x < 1 -> binomial_above (4 - 3) x = 1 / 2).
    { intros x Hx. rewrite B. unfold above. destruct (Rlt_dec x 0), (Rlt_dec x 1); lra. }
    assert (None : forall x, 1 <= x -> binomial_above (4 - 3) x = 0).
    { intros x Hx. rewrite B. unfold above. destruct (Rlt_dec x 0), (Rlt_dec x 1); lra. }
    unfold mean_of_eight. rewrite !Rmin_left by apply Rle_refl. unfold b. simpl (INR _).
    rewrite Half by (split; lra). rewrite !None by lra. lra.
Qed.

(** [polynomial-window] *)
Theorem polynomial_window d t jstar a0 a1 c beta : 0 <= beta ->
  token_conditions d t jstar a0 c -> token_conditions d t jstar a1 c ->
  0 < a0 < a1 -> 1 / 10 < a0 + b c ->
  let N := INR (n d t) in
  let w := fun a => Rpower (1 + a) beta / (Rpower (1 + a) beta + N - 1) in
  let s := fun a => (1 / 10 - (a + b c) * w a) / b c * sqrt (INR d - 2) * (1 - 1 / N) in
  (forall a, a = a0 \/ a = a1 ->
    sees (degree beta) (token_data d t jstar a c) jstar (w a) (w a) /\
    (1 / 10 < (a + b c) * w a <-> ln ((N - 1) / (10 * (a + b c) - 1)) / ln (1 + a) < beta)) /\
  ((10 * (a1 + b c) - 1) * Rpower (1 + a1) beta < N - 1 ->
    forall a, a = a0 \/ a = a1 -> let D := token_data d t jstar a c in
    P_column (tau D) (degree beta) D <= exp (- (s a ^ 2 / 2))).
Proof.
  intros Hbeta C0 C1 Ha Hb N w s. assert (HN : 2 <= N) by exact (n_ge_2 d t jstar a0 c C0).
  assert (Cond : forall a, a = a0 \/ a = a1 -> token_conditions d t jstar a c) by (intros a [-> | ->]; assumption).
  assert (Pos : forall a, a = a0 \/ a = a1 -> 0 < a /\ 1 / 10 < a + b c) by (intros a [-> | ->]; lra).
  split.
  - intros a H. destruct (Pos a H) as (Pa & Pb). split; [exact (degree_sees d t jstar a c (Cond a H) beta)|].
    assert (PR := exp_pos (beta * ln (1 + a))). change (0 < Rpower (1 + a) beta) in PR.
    assert (Pl : 0 < ln (1 + a)) by (rewrite <- ln_1; apply ln_increasing; lra).
    assert (Pq : 0 < (N - 1) / (10 * (a + b c) - 1)) by (apply Rdiv_lt_0_compat; lra).
    unfold w. rewrite (mark_decides_gain a c) by lra.
    set (q := (N - 1) / (10 * (a + b c) - 1)) in *.
    assert (El : ln q / ln (1 + a) * ln (1 + a) = ln q) by (field; lra). split.
    + intros (_ & H1). apply ln_increasing in H1; [|assumption]. unfold Rpower in H1. rewrite ln_exp in H1.
      apply Rmult_lt_reg_r with (ln (1 + a)); [assumption|]. lra.
    + intros H1. split; [lra|]. apply (Rmult_lt_compat_r (ln (1 + a))) in H1; [|assumption].
      rewrite El in H1. rewrite <- (exp_ln q) by assumption. apply exp_increasing. assumption.
  - intros H a Hc D. destruct (Pos a Hc) as (Pa & Pb).
    assert (PR := exp_pos (beta * ln (1 + a))). change (0 < Rpower (1 + a) beta) in PR.
    assert (PR1 := exp_pos (beta * ln (1 + a1))). change (0 < Rpower (1 + a1) beta) in PR1.
    assert (HR : Rpower (1 + a) beta <= Rpower (1 + a1) beta) by (apply Rle_Rpower_l; destruct Hc as [-> | ->]; lra).
    assert (Hs : a + b c <= a1 + b c) by (destruct Hc as [-> | ->]; lra).
    assert (Hw : 0 <= w a <= 1).
    { unfold w. split; [left; apply Rdiv_lt_0_compat; lra|].
      apply Rmult_le_reg_r with (Rpower (1 + a) beta + N - 1); [lra|].
      unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
    assert (Small : (a + b c) * w a < 1 / 10).
    { apply Rmult_lt_reg_r with (Rpower (1 + a) beta + N - 1); [lra|]. unfold w.
      replace ((a + b c) * (Rpower (1 + a) beta / (Rpower (1 + a) beta + N - 1)) * (Rpower (1 + a) beta + N - 1))
        with ((a + b c) * Rpower (1 + a) beta) by (field; lra).
      assert ((10 * (a + b c) - 1) * Rpower (1 + a) beta <= (10 * (a1 + b c) - 1) * Rpower (1 + a1) beta)
        by (apply Rmult_le_compat; lra).
      lra. }
    destruct (mark_decides_silent d t jstar a c (Cond a Hc) (degree beta) (w a) (w a)
      (degree_sees d t jstar a c (Cond a Hc) beta) Hw Hw Small Small) as (_ & E).
    exact (E eq_refl).
Qed.
