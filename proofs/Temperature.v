(** * The temperature: X = beta times all ones.

    Proved here: what beta does to scores and weights; the threshold moves to
    a (1 + a) = 1/beta; the window of beta in which softmax separates. *)

From Coq Require Import Reals List Arith Lra Lia Psatz.
From Coquelicot Require Import Coquelicot.
Require Import Model Signs Rows Attention Golden Main Kernels.
Open Scope R_scope.

(** Networks with the same weights fire with the same probability. *)
Lemma P_fires_ext s K K' D M :
  (forall j i, (j < size D)%nat -> (i < size D)%nat -> f K (with_X D M) j i = f K' D j i) ->
  (forall j k, (j < size D)%nat -> o K (with_X D M) j k = o K' D j k) /\
  (forall m, P_fires s K (with_X D M) m = P_fires s K' D m).
Proof.
  intros H.
  assert (Ho : forall j k, (j < size D)%nat -> o K (with_X D M) j k = o K' D j k).
  { intros j k Hj. apply Sum_ext. intros i Hi.
    change (A D i k * f K (with_X D M) j i = A D i k * f K' D j i). rewrite H by assumption. reflexivity. }
  split; [assumption|]. intros m. apply mean_ext. intros Y _.
  assert (E : F s K (with_X D M) Y = F s K' D Y); [|rewrite E; reflexivity].
  unfold F. apply (f_equal relu), Sum_ext. intros j Hj. induction Y as [|y Y IH]; [reflexivity|].
  cbn [fold_right]. rewrite IH. apply (f_equal (fun x => shifted_relu s x + _)).
  apply Sum_ext. intros k _. rewrite Ho by assumption. reflexivity.
Qed.

Section Temperature.

Variables (d t jstar : nat) (a c beta : R).
Hypothesis C : token_conditions d t jstar a c.
Hypothesis Hbeta : 0 < beta.

Notation D := (token_data d t jstar a c).
Notation D_beta := (with_X (token_data d t jstar a c) (fun _ _ => beta)).
Notation n := (n d t).

Let V : conditions D := token_valid d t jstar a c C.
Let Hj : (jstar < size D)%nat := token_jstar d t jstar a c C.
Let Hm : forall i, marked D i = Nat.eqb i jstar := token_marked d t jstar a c.

Lemma score_beta j i : (i < n)%nat -> score D_beta j i = beta * score D j i.
Proof.
  intros Hi. unfold score. rewrite !times_le by assumption.
  change (Sum d (fun k => Sum d (fun l => A D j k * beta * A D i l)) =
    beta * Sum d (fun k => Sum d (fun l => A D j k * 1 * A D i l))).
  rewrite <- Sum_scal. apply Sum_ext. intros k _. rewrite <- Sum_scal. apply Sum_ext. intros l _. ring.
Qed.

Lemma softmax_beta j i : (j < n)%nat -> (i < n)%nat -> f softmax D_beta j i = f (heated beta) D j i.
Proof.
  intros _ Hi. unfold f, everywhere, heated, softmax, normalised. change (size D_beta) with (size D).
  rewrite score_beta by assumption. f_equal. apply Sum_ext. intros k Hk. rewrite score_beta by assumption. reflexivity.
Qed.

Lemma heated_sees : sees (heated beta) D jstar (seen (INR n) (beta * a * (1 + a))) (seen (INR n) (beta * a)).
Proof.
  intros j i Hjn Hi. assert (HN : 2 <= INR n) by exact (size_ge_2 D V).
  assert (G : forall g, exp (beta * (g * (1 + a) * L n)) = Rpower (INR n) (beta * a * g) * exp (beta * (g * L n))).
  { intros g. unfold Rpower, L. rewrite <- exp_plus. f_equal. ring. }
  destruct (Nat.eqb j jstar) eqn:E.
  - apply Nat.eqb_eq in E. subst j. rewrite seen_gain by lra.
    apply (normalised_sees D jstar V Hm Hj); try assumption; try reflexivity.
    + apply exp_pos.
    + left. apply exp_pos.
    + rewrite (gamma_own D jstar Hm). exact (G (1 + a)).
  - rewrite seen_gain by lra.
    apply (normalised_sees D jstar V Hm Hj); try assumption; try reflexivity.
    + apply exp_pos.
    + left. apply exp_pos.
    + rewrite (gamma_other D jstar Hm j E). replace (beta * a) with (beta * a * 1) by ring. exact (G 1).
Qed.

(** [inverse-temperature] *)
Theorem inverse_temperature :
  (forall j i, (j < n)%nat -> (i < n)%nat -> score D_beta j i = beta * score D j i) /\
  (let z := (beta * a * (1 + a) - 1) * ln (INR n) - ln (1 - 1 / INR n) in
   f softmax D_beta jstar jstar = 1 / (1 + exp (- z))) /\
  (forall j i, (j < n)%nat -> (i < n)%nat -> f linear D_beta j i = f linear D j i) /\
  (forall m, P_fires (tau D_beta) linear D_beta m = P_fires (tau D) linear D m).
Proof.
  assert (Lin : forall j i, (j < n)%nat -> (i < n)%nat -> f linear D_beta j i = f linear D j i).
  { intros j i Hjn Hi. unfold f, everywhere, linear, normalised. change (size D_beta) with (size D).
    rewrite score_beta by assumption.
    rewrite (Sum_ext _ _ (fun k => beta * score D j k)) by (intros; apply score_beta; assumption).
    rewrite Sum_scal.
    assert (P : 0 < Sum (size D) (score D j)).
    { apply Sum_pos; [apply Nat.lt_le_trans with (2 := proj1 V); lia|]. intros k Hk.
      rewrite (score_eq D V eq_refl) by assumption. assert (G := gamma_ge_1 D V j). assert (G' := gamma_ge_1 D V k).
      repeat apply Rmult_lt_0_compat; try lra. exact (L_pos D V). }
    change (Sum (size D) (fun k => score D j k)) with (Sum (size D) (score D j)). field. lra. }
  split; [intros; apply score_beta; assumption | split; [|split]].
  - assert (HN : 2 <= INR n) by exact (size_ge_2 D V).
    rewrite softmax_beta by exact Hj. rewrite (own_row D jstar Hj (heated beta) _ _ heated_sees jstar Hj).
    unfold spread. rewrite Nat.eqb_refl. rewrite logistic_law by lra. reflexivity.
  - exact Lin.
  - exact (proj2 (P_fires_ext (tau D) linear linear D (fun _ _ => beta) Lin)).
Qed.

Lemma fires_heated m : P_fires (tau D_beta) softmax D_beta m = P_fires (tau D) (heated beta) D m.
Proof. exact (proj2 (P_fires_ext (tau D) softmax (heated beta) D (fun _ _ => beta) softmax_beta) m). Qed.

Lemma seen_range n k : 2 <= n -> 0 < seen n k <= 1.
Proof.
  intros Hn. unfold seen. assert (P := Rpower_pos n (- k)).
  assert (0 < (n - 1) * Rpower n (- k)) by (apply Rmult_lt_0_compat; lra). split.
  - apply Rdiv_lt_0_compat; lra.
  - apply Rmult_le_reg_r with (1 + (n - 1) * Rpower n (- k)); [lra|].
    unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

(** Both weights are small: the network is silent. *)
Lemma heated_silent e m : 0 < e ->
  seen (INR n) (beta * a * (1 + a)) <= e -> INR t / (INR n - 1) <= e -> a * e <= 1 / 20 ->
  P_fires (tau D_beta) softmax D_beta m <= INR m * (3200 * e).
Proof.
  intros He H1 Ht Hae. rewrite fires_heated. apply P_fires_le_bound.
  assert (HN : 2 <= INR n) by exact (size_ge_2 D V). assert (Ha : 0 <= a) by apply C.
  assert (R1 := seen_range (INR n) (beta * a * (1 + a)) HN). assert (R2 := seen_range (INR n) (beta * a) HN).
  assert (H2 : seen (INR n) (beta * a) <= e).
  { apply Rle_trans with (2 := H1). destruct (Req_dec a 0) as [->|E].
    - right. f_equal. ring.
    - left. apply seen_lt; [lra|]. assert (0 < beta * a) by (apply Rmult_lt_0_compat; lra). nra. }
  assert (B : forall w, 0 < w <= 1 -> w <= e -> bound d t a c w <= 800 * (2 * e)).
  { intros w Hw Hwe. apply (bound_le d t jstar a c C w (2 * e) Hw).
    - assert (Ht0 := pos_INR t).
      assert (INR t * ((1 - w) / (INR n - 1)) <= INR t / (INR n - 1)); [|lra].
      replace (INR t * ((1 - w) / (INR n - 1))) with (INR t / (INR n - 1) * (1 - w)) by (field; lra).
      rewrite <- (Rmult_1_r (INR t / (INR n - 1))) at 2. apply Rmult_le_compat_l; [|lra].
      apply Rmult_le_pos; [assumption | left; apply Rinv_0_lt_compat; lra].
    - nra. }
  assert (B1 := B _ R1 H1). assert (B2 := B _ R2 H2).
  apply Rle_trans with (1 := column_bound_two d t jstar a c C (heated beta) _ _ heated_sees
    (conj (Rlt_le _ _ (proj1 R1)) (proj2 R1)) (conj (Rlt_le _ _ (proj1 R2)) (proj2 R2))
    ltac:(nra) ltac:(nra)).
  lra.
Qed.

(** The mark's own row fires with 1/16. *)
Lemma heated_fires m : 1 / 10 < (a + b c) * seen (INR n) (beta * a * (1 + a)) ->
  1 - (15 / 16) ^ m <= P_fires (tau D_beta) softmax D_beta m.
Proof.
  intros H. rewrite fires_heated. assert (HN : 2 <= INR n) by exact (size_ge_2 D V).
  assert (R1 := seen_range (INR n) (beta * a * (1 + a)) HN).
  assert (Hf := own_row D jstar Hj (heated beta) _ _ heated_sees).
  assert (W := row_shares D jstar V Hj (heated beta) jstar _ (conj (Rlt_le _ _ (proj1 R1)) (proj2 R1)) Hf).
  apply (mark_decides_fires d t jstar a c C (heated beta) jstar Hj (proj1 W) (proj2 W)).
  rewrite (Hf jstar Hj). unfold spread. rewrite Nat.eqb_refl. assumption.
Qed.

End Temperature.

(** [inverse-temperature-threshold]: below it p tends to 0, above it to 1;
    a / d^{1/4} is within 1/(2 d^{1/4}) of 1. *)
Theorem inverse_temperature_threshold :
  (forall a beta, 0 <= a -> 0 < beta ->
    let p := fun n => 1 / (1 + (n - 1) * Rpower n (- (beta * a * (1 + a)))) in
    (forall d t jstar c, token_conditions d t jstar a c ->
      f softmax (with_X (token_data d t jstar a c) (fun _ _ => beta)) jstar jstar = p (INR (n d t))) /\
    (a * (1 + a) < 1 / beta -> is_lim p p_infty 0) /\
    (1 / beta < a * (1 + a) -> is_lim p p_infty 1) /\
    (a * (1 + a) = 1 / beta -> forall n, 1 <= n -> p n = 1 / (2 - 1 / n))) /\
  (forall (d : nat) a, (3 <= d)%nat -> 0 <= a ->
    (a * (1 + a) = 1 / (1 / sqrt (INR d)) <-> a * (1 + a) = sqrt (INR d))) /\
  (forall a, 0 <= a -> a * (1 + a) = sqrt 64 -> 2365 / 1000 < a < 2375 / 1000) /\
  (forall (d : nat) a, (3 <= d)%nat -> 0 <= a -> a * (1 + a) = sqrt (INR d) ->
    let root4 := sqrt (sqrt (INR d)) in 1 - 1 / (2 * root4) <= a / root4 <= 1).
Proof.
  split; [|split; [|split]].
  - intros a beta Ha Hb p. assert (Eb : beta * (1 / beta) = 1) by (field; lra).
    split; [|split; [|split]].
    + intros d t jstar c C. assert (Hj : (jstar < n d t)%nat) by apply C.
      rewrite (softmax_beta d t jstar a c beta jstar jstar Hj Hj).
      rewrite (own_row (token_data d t jstar a c) jstar Hj (heated beta) _ _ (heated_sees d t jstar a c beta C) jstar Hj).
      unfold spread. rewrite Nat.eqb_refl. reflexivity.
    + intros H. apply (seen_to_0 (beta * a * (1 + a))). apply (Rmult_lt_compat_l beta) in H; lra.
    + intros H. apply (seen_to_1 (beta * a * (1 + a))). apply (Rmult_lt_compat_l beta) in H; lra.
    + intros E n Hn. unfold p. replace (beta * a * (1 + a)) with 1 by (rewrite Rmult_assoc, E; lra).
      apply seen_at_1. assumption.
  - intros d a Hd _. apply le_INR in Hd. simpl in Hd. assert (P := sqrt_lt_R0 (INR d) ltac:(lra)).
    replace (1 / (1 / sqrt (INR d))) with (sqrt (INR d)) by (field; lra). reflexivity.
  - intros a Ha E. replace 64 with (8 * 8) in E by ring. rewrite sqrt_square in E by lra. split; nra.
  - intros d a Hd Ha E root4. apply le_INR in Hd. simpl in Hd. assert (P := sqrt_lt_R0 (INR d) ltac:(lra)).
    assert (P4 : 0 < root4) by (apply sqrt_lt_R0; assumption).
    assert (S4 : root4 * root4 = a * (1 + a)) by (rewrite E; apply sqrt_sqrt; lra).
    split; apply Rmult_le_reg_r with root4; try assumption.
    + replace ((1 - 1 / (2 * root4)) * root4) with (root4 - 1 / 2) by (field; lra).
      replace (a / root4 * root4) with a by (field; lra). nra.
    + replace (a / root4 * root4) with a by (field; lra). nra.
Qed.

(** From some d on, n = (d - 2) t is as large as you like, and t / (n - 1) as small, for all t. *)
Lemma large_d x e : 0 < e -> exists d0, forall d t, (d0 <= d)%nat -> (1 <= t)%nat ->
  x <= INR (n d t) /\ (2 <= n d t)%nat /\ INR t / (INR (n d t) - 1) <= e.
Proof.
  intros He. destruct (nfloor_ex (Rmax (1 / e) x)) as (k & _ & Hk).
  { apply Rle_trans with (2 := Rmax_l _ _). left. apply Rdiv_lt_0_compat; lra. }
  exists (S k + 4)%nat. intros d t Hd Ht.
  assert (Hk' : INR (S k) <= INR d - 3).
  { assert (E := le_INR (S k) (d - 3) ltac:(lia)). rewrite minus_INR in E by lia. simpl (INR 3) in E. lra. }
  rewrite S_INR in Hk'. assert (M1 := Rmax_l (1 / e) x). assert (M2 := Rmax_r (1 / e) x).
  assert (Ht1 : 1 <= INR t) by (apply (le_INR 1); assumption).
  assert (E : INR (n d t) = (INR d - 2) * INR t).
  { unfold n. rewrite mult_INR, minus_INR by lia. reflexivity. }
  assert (He1 : 0 < 1 / e) by (apply Rdiv_lt_0_compat; lra).
  assert (G : (INR d - 2) * 1 <= (INR d - 2) * INR t) by (apply Rmult_le_compat_l; lra).
  assert (H2 : (2 <= n d t)%nat) by (unfold n; nia).
  split; [lra | split; [assumption|]].
  assert (H3 : 1 / e * INR t <= (INR d - 3) * INR t) by (apply Rmult_le_compat_r; lra).
  assert (H4 : 1 / e * INR t <= INR (n d t) - 1) by lra.
  apply (Rmult_le_compat_l e) in H4; [|lra].
  replace (e * (1 / e * INR t)) with (INR t) in H4 by (field; lra).
  apply (le_INR 2) in H2. simpl (INR 2) in H2.
  apply Rmult_le_reg_r with (INR (n d t) - 1); [lra|].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

Lemma silent_small d t jstar a c beta e N0 m delta :
  (forall n, N0 < n -> seen n (beta * a * (1 + a)) <= e) -> token_conditions d t jstar a c -> 0 < beta ->
  0 < e -> a * e <= 1 / 20 -> INR m * (3200 * e) <= delta -> N0 + 1 <= INR (n d t) -> INR t / (INR (n d t) - 1) <= e ->
  let D := with_X (token_data d t jstar a c) (fun _ _ => beta) in P_fires (tau D) softmax D m <= delta.
Proof.
  intros Hs C Hb He Hae Hm Hn Ht D.
  apply Rle_trans with (2 := Hm). apply (heated_silent d t jstar a c beta C Hb e m He); [|assumption|assumption].
  apply Hs. lra.
Qed.

Lemma seen_limit k (l : R) e : 0 < e -> is_lim (fun n => seen n k) p_infty l ->
  exists N0, forall n, N0 < n -> l - e <= seen n k <= l + e.
Proof.
  intros He H. apply is_lim_spec in H. destruct (H (mkposreal e He)) as (N0 & HN). simpl in HN.
  exists N0. intros n Hn. specialize (HN n Hn). apply Rabs_def2 in HN. lra.
Qed.

(** [temperature-window]: for any delta > 0, from some d on, for every t. *)
Theorem temperature_window (beta : R) : 0 < beta ->
  let a0 := 5 / 100 in
  let a1 := 7 / 10 in
  let c := 1 / 2 in
  let fires := fun d t jstar a m =>
    let D := with_X (token_data d t jstar a c) (fun _ _ => beta) in P_fires (tau D) softmax D m in
  (8404 / 10000 <= beta <= 19047 / 1000 -> 1 / (a1 * (1 + a1)) < beta < 1 / (a0 * (1 + a0))) /\
  (1 / (a1 * (1 + a1)) < beta < 1 / (a0 * (1 + a0)) -> forall delta, 0 < delta ->
    exists d0 m, forall d t, (d0 <= d)%nat -> (1 <= t)%nat -> (2 <= n d t)%nat /\
    forall jstar, (jstar < n d t)%nat -> 1 - delta <= fires d t jstar a1 m /\ fires d t jstar a0 m <= delta) /\
  (beta < 1 / (a1 * (1 + a1)) -> forall m delta, 0 < delta ->
    exists d0, forall d t, (d0 <= d)%nat -> (1 <= t)%nat -> (2 <= n d t)%nat /\
    forall jstar, (jstar < n d t)%nat -> fires d t jstar a1 m <= delta /\ fires d t jstar a0 m <= delta) /\
  (1 / (a0 * (1 + a0)) < beta -> forall delta, 0 < delta ->
    exists d0 m0, forall d t m, (d0 <= d)%nat -> (1 <= t)%nat -> (m0 <= m)%nat -> (2 <= n d t)%nat /\
    forall jstar, (jstar < n d t)%nat -> 1 - delta <= fires d t jstar a1 m /\ 1 - delta <= fires d t jstar a0 m).
Proof.
  intros Hb a0 a1 c fires.
  assert (Ck : forall d t jstar a, 0 <= a -> (2 <= n d t)%nat -> (jstar < n d t)%nat -> token_conditions d t jstar a c)
    by (intros; repeat split; try assumption; unfold c; lra).
  (* below 1 / (a (1 + a)) the network falls silent *)
  assert (Silent : forall a m delta, 0 <= a <= 1 -> beta * a * (1 + a) < 1 -> 0 < delta ->
    exists d0, forall d t, (d0 <= d)%nat -> (1 <= t)%nat ->
    (2 <= n d t)%nat /\ forall jstar, (jstar < n d t)%nat -> fires d t jstar a m <= delta).
  { intros a m delta Ha Hk Hd. assert (Hm0 := pos_INR m).
    set (e := Rmin (1 / 20) (delta / (3200 * (INR m + 1)))).
    assert (He : 0 < e).
    { apply Rmin_glb_lt; [lra | apply Rdiv_lt_0_compat; lra]. }
    assert (He1 : e <= 1 / 20) by apply Rmin_l.
    assert (He2 : INR m * (3200 * e) <= delta).
    { apply Rle_trans with ((INR m + 1) * (3200 * e)); [apply Rmult_le_compat_r; lra|].
      assert (Hr := Rmin_r (1 / 20) (delta / (3200 * (INR m + 1)))). fold e in Hr.
      apply Rle_trans with ((INR m + 1) * (3200 * (delta / (3200 * (INR m + 1))))).
      - apply Rmult_le_compat_l; lra.
      - right. field. lra. }
    destruct (seen_limit _ 0 e He (seen_to_0 _ Hk)) as (N0 & HN0).
    destruct (large_d (N0 + 1) e He) as (d0 & Hd0).
    exists d0. intros d t Hdd Ht. destruct (Hd0 d t Hdd Ht) as (Hn & H2 & Hte). split; [assumption|]. intros jstar Hj.
    apply (silent_small d t jstar a c beta e N0 m delta); try assumption; try nra.
    - intros n Hn'. specialize (HN0 n Hn'). lra.
    - apply Ck; lra || assumption. }
  (* above it the mark's row fires *)
  assert (Fires : forall a, 0 <= a -> 1 < beta * a * (1 + a) ->
    exists d0, forall d t, (d0 <= d)%nat -> (1 <= t)%nat ->
    (2 <= n d t)%nat /\ forall jstar m, (jstar < n d t)%nat -> 1 - (15 / 16) ^ m <= fires d t jstar a m).
  { intros a Ha Hk. destruct (seen_limit _ 1 (1 / 2) ltac:(lra) (seen_to_1 _ Hk)) as (N0 & HN0).
    destruct (large_d (N0 + 1) 1 ltac:(lra)) as (d0 & Hd0).
    exists d0. intros d t Hdd Ht. destruct (Hd0 d t Hdd Ht) as (Hn & H2 & _). split; [assumption|]. intros jstar m Hj.
    apply (heated_fires d t jstar a c beta (Ck d t jstar a Ha H2 Hj)).
    specialize (HN0 (INR (n d t)) ltac:(lra)). unfold b, c. nra. }
  assert (Pow : forall delta, 0 < delta -> exists m0, forall m, (m0 <= m)%nat -> (15 / 16) ^ m <= delta).
  { intros delta Hd. destruct (pow_lt_1_zero (15 / 16) ltac:(rewrite Rabs_right; lra) delta Hd) as (m0 & Hm).
    exists m0. intros m Hmm. specialize (Hm m Hmm). rewrite Rabs_right in Hm by (apply Rle_ge, pow_le; lra). lra. }
  assert (E1 : 1 / (a1 * (1 + a1)) = 100 / 119) by (unfold a1; field).
  assert (E0 : 1 / (a0 * (1 + a0)) = 400 / 21) by (unfold a0; field).
  rewrite E1, E0. split; [intros H; lra | split; [|split]].
  - intros H delta Hd. destruct (Pow delta Hd) as (m & Hm). specialize (Hm m (le_n m)).
    destruct (Silent a0 m delta ltac:(unfold a0; lra) ltac:(unfold a0; lra) Hd) as (d1 & H1).
    destruct (Fires a1 ltac:(unfold a1; lra) ltac:(unfold a1; lra)) as (d2 & H2).
    exists (max d1 d2), m. intros d t Hdd Ht.
    destruct (H1 d t ltac:(lia) Ht) as (Hn & H1'). destruct (H2 d t ltac:(lia) Ht) as (_ & H2').
    split; [assumption|]. intros jstar Hj. split; [|apply H1'; assumption].
    specialize (H2' jstar m Hj). lra.
  - intros H m delta Hd.
    destruct (Silent a1 m delta ltac:(unfold a1; lra) ltac:(unfold a1; lra) Hd) as (d1 & H1).
    destruct (Silent a0 m delta ltac:(unfold a0; lra) ltac:(unfold a0; lra) Hd) as (d2 & H2).
    exists (max d1 d2). intros d t Hdd Ht.
    destruct (H1 d t ltac:(lia) Ht) as (Hn & H1'). destruct (H2 d t ltac:(lia) Ht) as (_ & H2').
    split; [assumption|]. intros jstar Hj. split; auto.
  - intros H delta Hd. destruct (Pow delta Hd) as (m0 & Hm).
    destruct (Fires a1 ltac:(unfold a1; lra) ltac:(unfold a1; lra)) as (d1 & H1).
    destruct (Fires a0 ltac:(unfold a0; lra) ltac:(unfold a0; lra)) as (d2 & H2).
    exists (max d1 d2), m0. intros d t m Hdd Ht Hmm.
    destruct (H1 d t ltac:(lia) Ht) as (Hn & H1'). destruct (H2 d t ltac:(lia) Ht) as (_ & H2').
    split; [assumption|]. intros jstar Hj. specialize (Hm m Hmm).
    specialize (H1' jstar m Hj). specialize (H2' jstar m Hj). split; lra.
Qed.
