(** * What else can be read off the matrices.

    Proved here: the marked row's weight with X = I; the identities behind the law
    of one column; what the first entry of linear attention's output tells; a mark
    strong enough for linear attention; the least probability that b > 0.1 allows;
    that more columns and a lower threshold never fire less. *)

From Coq Require Import Reals List Arith Lra Lia Psatz.
Require Import Model Signs Rows Attention Golden Main.
Import ListNotations.
Open Scope R_scope.

Section Tokens.

Variables (d t jstar : nat) (a c : R).
Hypothesis C : token_conditions d t jstar a c.

Notation D := (token_data d t jstar a c).
Notation n := (n d t).

Let V : conditions D := token_valid d t jstar a c C.
Let Hj : (jstar < size D)%nat := token_jstar d t jstar a c C.
Let Hm : forall i, marked D i = Nat.eqb i jstar := token_marked d t jstar a c.

(** [identity-weight] *)
Theorem identity_weight :
  let N := INR n in
  f softmax (with_X D (fun i k => if Nat.eqb i k then 1 else 0)) jstar jstar =
  1 / (1 + (INR t - 1) * Rpower N (- a ^ 2) + (N - INR t) * Rpower N (- a ^ 2 - b c ^ 2)).
Proof.
  intros N. set (D_I := with_X D _). assert (HN : 2 <= N) by exact (size_ge_2 D V).
  destruct (token_sizes d t jstar a c C) as (Hd & Ht). assert (HL := L_pos D V). simpl size in HL.
  set (ks := (jstar mod (d - 2))%nat). assert (Hks : (ks < d - 2)%nat) by (apply Nat.mod_upper_bound; lia).
  assert (S : forall i, (i < n)%nat -> score D_I jstar i =
    ((if Nat.eqb i jstar then a ^ 2 else 0) + (if Nat.eqb ks (class D i) then b c ^ 2 else 0) + c ^ 2) * L n).
  { intros i Hi. unfold score. rewrite times_le by exact Hi.
    change (Sum d (fun k => Sum d (fun l => A D jstar k * (if Nat.eqb k l then 1 else 0) * A D i l)) =
      ((if Nat.eqb i jstar then a ^ 2 else 0) + (if Nat.eqb ks (class D i) then b c ^ 2 else 0) + c ^ 2) * L n).
    rewrite (Sum_ext d _ (fun k => A D jstar k * A D i k)).
    2: { intros k Hk. rewrite (Sum_one d k _ 0 Hk).
         - rewrite Nat.eqb_refl. ring.
         - intros l _ Hl. replace (Nat.eqb k l) with false by (symmetry; apply Nat.eqb_neq; congruence). ring. }
    assert (Sq : sqrt (L n) * sqrt (L n) = L n) by (apply sqrt_sqrt; lra).
    change d with (width D) at 1. rewrite (Sum_width D V). simpl (width D - 2)%nat.
    rewrite !A_first, !(A_last D V), !Hm, Nat.eqb_refl. simpl strength. simpl constant. simpl size.
    rewrite (Sum_one (d - 2) ks _ 0 Hks).
    - rewrite !(A_class D V) by exact Hks. simpl (class D jstar). fold ks. rewrite Nat.eqb_refl.
      simpl constant. simpl size. set (r := sqrt (L n)) in *. rewrite <- Sq. simpl class.
      destruct (Nat.eqb i jstar), (Nat.eqb ks (i mod (d - 2))); ring.
    - intros k Hk Hne. rewrite !(A_class D V) by exact Hk. simpl (class D jstar). fold ks.
      replace (Nat.eqb k ks) with false by (symmetry; apply Nat.eqb_neq; assumption). ring. }
  assert (E : forall x, exp (x * L n) = Rpower N x) by reflexivity.
  set (E1 := Rpower N (a ^ 2 + b c ^ 2 + c ^ 2)). set (E2 := Rpower N (b c ^ 2 + c ^ 2)). set (E3 := Rpower N (c ^ 2)).
  assert (P1 : 0 < E1) by apply exp_pos. assert (P2 : 0 < E2) by apply exp_pos. assert (P3 : 0 < E3) by apply exp_pos.
  unfold f, everywhere, softmax, normalised. change (size D_I) with n. rewrite S by exact Hj.
  rewrite Nat.eqb_refl. simpl (class D jstar). fold ks. rewrite Nat.eqb_refl, E. fold E1.
  rewrite (Sum_ext n _ (fun i => (E2 - E3) * (if in_class D ks i then 1 else 0) +
    (E3 + (if Nat.eqb i jstar then E1 - E2 else 0)))).
  - rewrite Sum_plus, Sum_scal, Sum_plus, Sum_const.
    change (Sum n (fun i => if in_class D ks i then 1 else 0)) with (class_size D ks).
    rewrite (token_class_size d t jstar a c ks Hks).
    rewrite (Sum_one n jstar (fun i => if Nat.eqb i jstar then E1 - E2 else 0) 0 Hj).
    + rewrite Nat.eqb_refl. fold N.
      assert (R2 : Rpower N (- a ^ 2) * E1 = E2) by (unfold E1, E2; rewrite <- Rpower_plus; f_equal; ring).
      assert (R3 : Rpower N (- a ^ 2 - b c ^ 2) * E1 = E3) by (unfold E1, E3; rewrite <- Rpower_plus; f_equal; ring).
      rewrite <- R2, <- R3. set (x := Rpower N (- a ^ 2)). set (z := Rpower N (- a ^ 2 - b c ^ 2)).
      assert (Hx : 0 < x) by apply exp_pos. assert (Hz : 0 < z) by apply exp_pos.
      assert (Ht1 : 1 <= INR t) by (apply (le_INR 1); assumption).
      assert (HNt : INR t <= N).
      { apply le_INR. unfold Model.n. rewrite <- (Nat.mul_1_l t) at 1. apply Nat.mul_le_mono_r. assumption. }
      assert (0 <= (INR t - 1) * x) by (apply Rmult_le_pos; lra).
      assert (0 <= (N - INR t) * z) by (apply Rmult_le_pos; lra).
      assert (Den : (x * E1 - z * E1) * INR t + (N * (z * E1) + (E1 - x * E1 + (N - 1) * 0))
        = E1 * (1 + (INR t - 1) * x + (N - INR t) * z)) by ring.
      rewrite Den. field. split; lra.
    + intros i _ Hi. replace (Nat.eqb i jstar) with false by (symmetry; apply Nat.eqb_neq; assumption). reflexivity.
  - intros i Hi. rewrite S, E by assumption. unfold in_class.
    destruct (Nat.eqb i jstar) eqn:Ei.
    + apply Nat.eqb_eq in Ei. subst i. simpl (class D jstar). fold ks. rewrite Nat.eqb_refl. fold E1. ring.
    + destruct (Nat.eqb ks (class D i)).
      * replace (0 + b c ^ 2 + c ^ 2) with (b c ^ 2 + c ^ 2) by ring. fold E2. ring.
      * replace (0 + 0 + c ^ 2) with (c ^ 2) by ring. fold E3. ring.
Qed.

(** The first entry of a row's output. *)
Lemma first_entry K j w : (forall i, (i < n)%nat -> f K D j i = spread n jstar w i) ->
  o K D j O = a * w * sqrt (L n).
Proof.
  intros Hf. destruct (token_sizes d t jstar a c C) as (Hd & _). assert (HR := Rows.root_pos D V). simpl size in HR.
  assert (E := values_in_closed_form d t jstar a c C K j w O Hf ltac:(lia)). simpl in E.
  rewrite <- E. field. lra.
Qed.

Lemma linear_first j : (j < n)%nat -> o linear D j O = a * (1 + a) / (INR n + a) * sqrt (L n).
Proof.
  intros Hjn. destruct (lemma_d_2_weights d t jstar a c C) as (_ & S).
  rewrite (first_entry linear j (p_lin (INR n) a)).
  - unfold p_lin, Rdiv. ring.
  - intros i Hi. rewrite S by assumption. destruct (Nat.eqb j jstar); reflexivity.
Qed.

(** [golden-ratio-matrices] *)
Theorem golden_ratio_matrices : a > 0 -> o softmax D jstar O / (a * sqrt (L n)) = p (INR n) a.
Proof.
  intros Ha. destruct (lemma_d_2_weights d t jstar a c C) as (S & _). assert (HR := Rows.root_pos D V). simpl size in HR.
  rewrite (first_entry softmax jstar (p (INR n) a) (own_row D jstar Hj softmax _ _ S)). field. lra.
Qed.

(** [break-1-strong-mark] *)
Theorem break_1_strong_mark :
  (10 * a * (1 + a) > INR n + a -> 1 / 8 <= P_column (tau D) linear D) /\
  (a >= sqrt (INR n / 10) -> 10 * a * (1 + a) > INR n + a).
Proof.
  assert (HN : 2 <= INR n) by exact (size_ge_2 D V). assert (Ha : 0 <= a) by apply C. split.
  - intros H. apply (row_fires d t jstar a c C linear jstar (p_lin (INR n) a)).
    + exact (p_lin_01 d t jstar a c C).
    + exact Hj.
    + exact (own_row D jstar Hj linear _ _ (linear_S d t jstar a c C)).
    + unfold p_lin. apply Rmult_lt_reg_r with (INR n + a); [lra|].
      replace (a * ((1 + a) / (INR n + a)) * (INR n + a)) with (a * (1 + a)) by (field; lra). lra.
  - intros H. assert (Sq := sqrt_sqrt (INR n / 10) ltac:(lra)). assert (P := sqrt_lt_R0 (INR n / 10) ltac:(lra)). nra.
Qed.

(** [scaling-width-floor] *)
Theorem scaling_width_floor K : K = softmax \/ K = linear -> b c > 1 / 10 ->
  1 / 2 ^ d <= P_column (tau D) K D /\ forall m, 1 - (1 - 1 / 2 ^ d) ^ m <= P_fires (tau D) K D m.
Proof.
  intros HK Hb. assert (Ha : 0 <= a) by apply C.
  assert (W : exists w, 0 <= w <= 1 /\ forall i, (i < n)%nat -> f K D jstar i = spread n jstar w i).
  { destruct HK as [-> | ->].
    - exists (p (INR n) a). split; [exact (p_01 d t jstar a c C) |
        exact (own_row D jstar Hj softmax _ _ (softmax_S d t jstar a c C))].
    - exists (p_lin (INR n) a). split; [exact (p_lin_01 d t jstar a c C) |
        exact (own_row D jstar Hj linear _ _ (linear_S d t jstar a c C))]. }
  destruct W as (w & Hw & Hf). assert (Sh := row_shares D jstar V Hj K jstar w Hw Hf).
  assert (P2 : 0 < 2 ^ d) by (apply pow_lt; lra).
  assert (Hit : 1 / 2 ^ d <= P_column (tau D) K D).
  { rewrite P_column_hit, mean_total, all_signs_count, pow_INR. simpl (INR 2). replace (1 + 1) with 2 by ring.
    apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; assumption|].
    assert (In1 : In (repeat 1 d) (all_signs d)).
    { apply all_signs_spec. split; [apply repeat_length|]. apply List.Forall_forall. intros x Hx.
      left. apply (repeat_spec d 1). assumption. }
    assert (H1 : hit (tau D) K D (repeat 1 d) = 1).
    { apply hit_true. exists jstar. split; [exact Hj|]. apply (exceeds_iff D V (c + 1 / 10)).
      simpl width. unfold dot. rewrite (Sum_ext d _ (value D (f K D jstar))).
      - change d with (width D) at 1. rewrite (Sum_width D V). simpl (width D - 2)%nat.
        rewrite (Sum_ext (d - 2) _ (fun l => b c * mass D (in_class D l) (f K D jstar)))
          by (intros; apply class_value; assumption).
        rewrite Sum_scal. assert (T := mass_total D V (f K D jstar)). simpl width in T. rewrite T.
        unfold value. rewrite (row_mark D jstar Hm Hj K jstar w Hf). simpl width. rewrite Nat.eqb_refl, (proj2 Sh).
        simpl strength. simpl constant. assert (0 <= a * w) by (apply Rmult_le_pos; lra). lra.
      - intros k Hk. assert (X : In (nth k (repeat 1 d) 0) (repeat 1 d)) by (apply nth_In; rewrite repeat_length; assumption).
        rewrite (repeat_spec _ _ _ X). ring. }
    change (1 <= total (all_signs d) (hit (tau D) K D)). rewrite <- H1.
    clear - In1. induction (all_signs d) as [|y l IH]; [destruct In1|]. simpl. unfold total in *. simpl.
    assert (Ry := hit_range (tau D) K D y).
    assert (Rl : 0 <= fold_right (fun y s => hit (tau D) K D y + s) 0 l).
    { clear. induction l as [|y l IH]; simpl; [lra|]. assert (Ry := hit_range (tau D) K D y). lra. }
    destruct In1 as [-> | In1]; [lra|]. specialize (IH In1). lra. }
  split; [assumption|]. intros m. apply P_fires_ge; [|lra].
  assert (0 < 1 / 2 ^ d <= 1); [|lra]. split; [apply Rdiv_lt_0_compat; lra|].
  apply Rle_trans with (1 := Hit). apply P_column_range.
Qed.

(** [break-2-sum-of-scores] *)
Theorem break_2_sum_of_scores :
  let total := Sum n (fun j => Sum n (score D j)) in
  total = (INR n + a) ^ 2 * L n /\
  (7 / 10 <= a -> (INR n + 4 / 10) ^ 2 * L n < total) /\
  (a <= 1 / 10 -> total < (INR n + 4 / 10) ^ 2 * L n).
Proof.
  intros total. assert (HN : 2 <= INR n) by exact (size_ge_2 D V). assert (HL := L_pos D V). simpl size in HL.
  assert (Ha : 0 <= a) by apply C.
  assert (G : Sum n (gamma D) = INR n + a).
  { rewrite (Sum_one n jstar _ 1 Hj).
    - rewrite (gamma_own D jstar Hm). simpl strength. ring.
    - intros i _ Hi. apply (gamma_other D jstar Hm). apply Nat.eqb_neq. assumption. }
  assert (E : total = (INR n + a) ^ 2 * L n).
  { unfold total. rewrite (Sum_ext n _ (fun j => (INR n + a) * L n * gamma D j)).
    - rewrite Sum_scal, G. ring.
    - intros j Hjn. rewrite (Sum_ext n _ (fun i => gamma D j * L n * gamma D i)).
      + rewrite Sum_scal, G. ring.
      + intros i Hi. rewrite (score_eq D V eq_refl) by assumption. simpl size. ring. }
  split; [assumption|]. rewrite E. split; intros H; apply Rmult_lt_compat_r; try assumption; nra.
Qed.

(** [strength-from-linear-entry] *)
Theorem strength_from_linear_entry j s : (j < n)%nat -> o linear D j O = s * sqrt (L n) ->
  a = 1 / 2 * (s - 1 + sqrt ((s - 1) ^ 2 + 4 * INR n * s)).
Proof.
  intros Hjn E. rewrite linear_first in E by assumption. assert (HR := Rows.root_pos D V). simpl size in HR.
  assert (HN : 2 <= INR n) by exact (size_ge_2 D V). assert (Ha : 0 <= a) by apply C.
  apply Rmult_eq_reg_r in E; [|lra].
  assert (Es : s * (INR n + a) = a * (1 + a)) by (rewrite <- E; field; lra).
  assert (Hs : s <= 1 + a).
  { apply Rmult_le_reg_r with (INR n + a); [lra|]. rewrite Es. nra. }
  replace ((s - 1) ^ 2 + 4 * INR n * s) with ((2 * a + 1 - s) * (2 * a + 1 - s)) by nra.
  rewrite sqrt_square by lra. field.
Qed.

End Tokens.

(** [map-monotone]: for all kernels. *)
Theorem map_monotone K D g m :
  (forall m', (m <= m')%nat -> P_fires (count_tau g D) K D m <= P_fires (count_tau g D) K D m') /\
  (forall g', g <= g' -> P_fires (count_tau g' D) K D m <= P_fires (count_tau g D) K D m).
Proof.
  split.
  - intros m' Hm. rewrite !P_fires_eq. assert (R := P_column_range (count_tau g D) K D).
    set (x := P_column (count_tau g D) K D) in *. replace m' with (m + (m' - m))%nat by lia. rewrite pow_add.
    assert (P := pow_le (1 - x) m ltac:(lra)).
    assert (Q : (1 - x) ^ (m' - m) <= 1) by (rewrite <- (pow1 (m' - m)) at 2; apply pow_incr; lra). nra.
  - intros g' Hg. assert (T : count_tau g D <= count_tau g' D)
      by (apply Rmult_le_compat_r; [apply sqrt_pos | lra]).
    assert (Le : P_column (count_tau g' D) K D <= P_column (count_tau g D) K D).
    { rewrite !P_column_hit. apply mean_le; [apply all_signs_not_nil|]. intros y _.
      destruct (hit_cases (count_tau g' D) K D y) as [(-> & j & Hj & H) | (-> & _)]; [|apply hit_range].
      rewrite hit_true; [lra | exists j; split; [assumption | lra]]. }
    rewrite !P_fires_eq. assert (R := P_column_range (count_tau g D) K D).
    assert ((1 - P_column (count_tau g D) K D) ^ m <= (1 - P_column (count_tau g' D) K D) ^ m)
      by (apply pow_incr; lra). lra.
Qed.

(** [first-coordinate-separates] *)
Theorem first_coordinate_separates d t jstar jstar' a a' c c' j j' :
  token_conditions d t jstar a c -> token_conditions d t jstar' a' c' ->
  let D0 := token_data d t jstar a c in
  let D1 := token_data d t jstar' a' c' in
  let N := INR (n d t) in
  (j < n d t)%nat -> (j' < n d t)%nat ->
  o linear D0 j O = a * (1 + a) / (N + a) * sqrt (L (n d t)) /\
  (a < a' -> a * (1 + a) / (N + a) < a' * (1 + a') / (N + a')) /\
  (a <= 1 / 10 -> 7 / 10 <= a' ->
   o linear D0 j O < 4 / 10 / N * sqrt (L (n d t)) < o linear D1 j' O).
Proof.
  intros C C' D0 D1 N Hj Hj'. assert (HN : 2 <= N) by exact (n_ge_2 d t jstar a c C).
  assert (Ha : 0 <= a) by apply C. assert (Ha' : 0 <= a') by apply C'.
  assert (HR := Rows.root_pos _ (token_valid d t jstar a c C)). simpl size in HR.
  assert (E0 : o linear D0 j O = a * (1 + a) / (N + a) * sqrt (L (n d t))) by exact (linear_first d t jstar a c C j Hj).
  assert (E1 : o linear D1 j' O = a' * (1 + a') / (N + a') * sqrt (L (n d t))) by exact (linear_first d t jstar' a' c' C' j' Hj').
  split; [assumption|]. split.
  - intros H. apply Rmult_lt_reg_r with ((N + a) * (N + a')); [apply Rmult_lt_0_compat; lra|].
    replace (a * (1 + a) / (N + a) * ((N + a) * (N + a'))) with (a * (1 + a) * (N + a')) by (field; lra).
    replace (a' * (1 + a') / (N + a') * ((N + a) * (N + a'))) with (a' * (1 + a') * (N + a)) by (field; lra).
    assert (0 < N * (1 + a + a')) by (apply Rmult_lt_0_compat; lra).
    assert (0 <= a * a') by (apply Rmult_le_pos; assumption).
    assert (0 < (a' - a) * (N * (1 + a + a') + a * a')) by (apply Rmult_lt_0_compat; lra). lra.
  - intros H0 H1. rewrite E0, E1. split; apply Rmult_lt_compat_r; try assumption.
    + apply Rmult_lt_reg_r with (N * (N + a)); [nra|].
      replace (a * (1 + a) / (N + a) * (N * (N + a))) with (a * (1 + a) * N) by (field; lra).
      replace (4 / 10 / N * (N * (N + a))) with (4 / 10 * (N + a)) by (field; lra).
      assert (Q : a * (1 + a) <= 11 / 100) by nra.
      apply (Rmult_le_compat_r N) in Q; [lra | lra].
    + apply Rmult_lt_reg_r with (N * (N + a')); [nra|].
      replace (a' * (1 + a') / (N + a') * (N * (N + a'))) with (a' * (1 + a') * N) by (field; lra).
      replace (4 / 10 / N * (N * (N + a'))) with (4 / 10 * (N + a')) by (field; lra).
      assert (Q1 : 7 / 10 * N <= a' * N) by (apply Rmult_le_compat_r; lra).
      assert (Q2 : a' * 2 <= a' * N) by (apply Rmult_le_compat_l; lra).
      assert (Q3 : a' * N * (7 / 10) <= a' * N * a') by (apply Rmult_le_compat_l; nra). lra.
Qed.

(** [certified-values] *)
Theorem certified_values (a b c d t R y1 yk yd S : R) :
  let n := (d - 2) * t in
  let w := R / (R + n - 1) in
  let r := (1 - w) / (n - 1) in
  let G := 1 / 10 + c * (1 - yd) in
  1 < n -> 0 < R -> b = 1 - c ->
  (w + (t - 1) * r) + (d - 3) * (t * r) = 1 /\
  (w + (t - 1) * r) - t * r = w - r /\
  (c + 1 / 10 < a * w * y1 + b * (w + (t - 1) * r) * yk + b * (t * r) * S + c * yd <->
   b * t * S > G * (n - 1) - b * (t - 1) * yk + R * (G - a * y1 - b * yk)).
Proof.
  intros n w r G Hn HR Hb.
  assert (Er : r = 1 / (R + n - 1)) by (unfold r, w; field; lra).
  assert (Sum1 : w + (n - 1) * r = 1) by (unfold r; field; lra).
  split; [unfold n in Sum1; lra | split; [ring|]].
  assert (E : (a * w * y1 + b * (w + (t - 1) * r) * yk + b * (t * r) * S + c * yd - (c + 1 / 10)) * (R + n - 1)
    = b * t * S - (G * (n - 1) - b * (t - 1) * yk + R * (G - a * y1 - b * yk))).
  { rewrite Er. unfold w, G. rewrite Hb. field. lra. }
  set (x := _ + c * yd) in *. set (z := G * _ - _ + _) in *. split; intros H.
  - assert (0 < (x - (c + 1 / 10)) * (R + n - 1)) by (apply Rmult_lt_0_compat; lra). lra.
  - apply Rnot_le_lt. intros H'. assert ((x - (c + 1 / 10)) * (R + n - 1) <= 0) by nra. lra.
Qed.
