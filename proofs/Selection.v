(** * Selection: it sees which token is marked, and hardly how much.

    Proved here: hard attention gives the marked token all the weight, sparsemax
    min(1, (1 + (n-1) gamma a L)/n); with all the weight in every row only eight
    patterns of signs count; what follows for hard attention. *)

From Coq Require Import Reals List Arith Bool Lra Lia Psatz.
Require Import Model Signs Rows Attention Golden Main Law.
Import ListNotations.
Open Scope R_scope.

(** Some token has the largest score, so that the weights sum to 1. *)
Lemma exists_largest m (v : vector) : (0 < m)%nat ->
  exists i, (i < m)%nat /\ forall k, (k < m)%nat -> v k <= v i.
Proof.
  induction m as [|m IH]; [lia|]. intros _. destruct m as [|m].
  - exists O. split; [lia|]. intros k Hk. replace k with O by lia. lra.
  - destruct (IH ltac:(lia)) as (i & Hi & H). destruct (Rle_dec (v (S m)) (v i)) as [Q|Q].
    + exists i. split; [lia|]. intros k Hk. destruct (Nat.eq_dec k (S m)) as [->|]; [assumption | apply H; lia].
    + exists (S m). split; [lia|]. intros k Hk. destruct (Nat.eq_dec k (S m)) as [->|]; [lra|].
      assert (X := H k ltac:(lia)). lra.
Qed.

Lemma hard_weights m v : (0 < m)%nat ->
  (forall i, (i < m)%nat -> 0 <= hard m v i) /\ Sum m (hard m v) = 1.
Proof.
  intros Hm. set (s := Sum m (fun k => if is_largest m v k then 1 else 0)).
  assert (Hs : 0 < s).
  { destruct (exists_largest m v Hm) as (i & Hi & H).
    apply Rlt_le_trans with (if is_largest m v i then 1 else 0).
    - replace (is_largest m v i) with true; [lra|]. symmetry. apply forallb_forall. intros k Hk.
      apply in_seq in Hk. destruct (Rle_dec _ _) as [|Q]; [reflexivity | exfalso; apply Q, H; lia].
    - apply (Sum_ge_one m i (fun k => if is_largest m v k then 1 else 0) Hi).
      intros k _. destruct (is_largest m v k); lra. }
  split.
  - intros i _. unfold hard. fold s. destruct (is_largest m v i); [left; apply Rdiv_lt_0_compat; lra | lra].
  - rewrite (Sum_ext m _ (fun i => / s * (if is_largest m v i then 1 else 0))).
    + rewrite Sum_scal. fold s. field. lra.
    + intros i _. unfold hard. fold s. destruct (is_largest m v i); field; lra.
Qed.

(** The projection onto the simplex is max(v - theta, 0). *)
Lemma sparsemax_theta m v f theta : is_sparsemax m v f ->
  Sum m (fun i => Rmax (v i - theta) 0) = 1 ->
  forall i, (i < m)%nat -> f i = Rmax (v i - theta) 0.
Proof.
  intros ((F0 & F1) & Min) G1. set (g := fun i => Rmax (v i - theta) 0) in *.
  assert (Gs : in_simplex m g) by (split; [intros; apply Rmax_r | exact G1]).
  assert (H := Min g Gs).
  (* |f - v|^2 = |f - g|^2 + |g - v|^2 + 2 <f - g, g - v + theta>, and the last one is not negative *)
  assert (E : Sum m (fun i => (f i - v i) ^ 2) = Sum m (fun i => (f i - g i) ^ 2) + Sum m (fun i => (g i - v i) ^ 2)
    + 2 * Sum m (fun i => (f i - g i) * (g i - v i + theta))).
  { rewrite (Sum_ext m (fun i => (f i - v i) ^ 2) (fun i => ((f i - g i) ^ 2 + (g i - v i) ^ 2
      + 2 * ((f i - g i) * (g i - v i + theta))) + (- (2 * theta) * f i + 2 * theta * g i))) by (intros; ring).
    rewrite !Sum_plus, !Sum_scal. change (Sum m (fun k => f k)) with (Sum m f). change (Sum m (fun k => g k)) with (Sum m g).
    rewrite F1, G1. ring. }
  assert (P : 0 <= Sum m (fun i => (f i - g i) * (g i - v i + theta))).
  { apply Sum_nonneg. intros i Hi. assert (Fi := F0 i Hi). unfold g, Rmax. destruct (Rle_dec _ _) as [Q|Q]; nra. }
  intros i Hi.
  assert (Z : (f i - g i) ^ 2 <= 0).
  { apply Rle_trans with (Sum m (fun i => (f i - g i) ^ 2)); [|lra].
    apply (Sum_ge_one m i (fun i => (f i - g i) ^ 2) Hi). intros; apply pow2_ge_0. }
  assert (f i - g i = 0) by nra. unfold g in *. lra.
Qed.

Section Selection.

Variables (d t jstar : nat) (a c : R).
Hypothesis C : token_conditions d t jstar a c.

Notation D := (token_data d t jstar a c).
Notation n := (n d t).

Let V : conditions D := token_valid d t jstar a c C.
Let Hj : (jstar < size D)%nat := token_jstar d t jstar a c C.
Let Hm : forall i, marked D i = Nat.eqb i jstar := token_marked d t jstar a c.

Lemma hard_sees : 0 < a -> sees hard D jstar 1 1.
Proof.
  intros Ha j i Hjn Hi. assert (HL := L_pos D V). assert (G := gamma_ge_1 D V j).
  assert (Largest : forall k, (k < n)%nat -> is_largest n (score D j) k = Nat.eqb k jstar).
  { intros k Hk. assert (S : forall l, (l < n)%nat -> score D j l = gamma D j * gamma D l * L n)
      by (intros l Hl; exact (score_eq D V eq_refl j l Hjn Hl)).
    assert (Gl : forall l, gamma D l = if Nat.eqb l jstar then 1 + a else 1) by (intros l; reflexivity).
    assert (P : 0 < gamma D j * L n) by (apply Rmult_lt_0_compat; [lra | exact HL]).
    unfold is_largest. destruct (Nat.eqb k jstar) eqn:E.
    - apply forallb_forall. intros l Hl. apply in_seq in Hl.
      destruct (Rle_dec _ _) as [_|N]; [reflexivity | exfalso]. apply N.
      rewrite !S by lia. rewrite (Gl l), (Gl k), E.
      assert (0 <= gamma D j * L n * a) by (apply Rmult_le_pos; lra). destruct (Nat.eqb l jstar); lra.
    - apply not_true_is_false. intros H. rewrite forallb_forall in H.
      assert (X : In jstar (seq 0 n)) by (apply in_seq; split; [apply Nat.le_0_l | exact Hj]).
      specialize (H jstar X).
      destruct (Rle_dec _ _) as [N|]; [|discriminate].
      rewrite !S in N by assumption. rewrite (Gl jstar), (Gl k), E, Nat.eqb_refl in N.
      assert (0 < gamma D j * L n * a) by (apply Rmult_lt_0_compat; lra). lra. }
  unfold f, everywhere, hard. change (size D) with n.
  assert (HN : 2 <= INR n) by exact (size_ge_2 D V).
  rewrite Largest by assumption.
  rewrite (Sum_ext n _ (fun k => if Nat.eqb k jstar then 1 else 0))
    by (intros k Hk; rewrite Largest by assumption; reflexivity).
  rewrite (Sum_one n jstar _ 0 Hj).
  - rewrite Nat.eqb_refl. unfold spread. destruct (Nat.eqb j jstar), (Nat.eqb i jstar); field; lra.
  - intros k _ Hk. replace (Nat.eqb k jstar) with false by (symmetry; apply Nat.eqb_neq; assumption). reflexivity.
Qed.

(** [kernel-weights], in part: sparsemax, whichever function computes it. *)
Theorem sparsemax_sees K :
  (forall j, (j < n)%nat -> is_sparsemax n (score D j) (f K D j)) ->
  let w := fun gamma => Rmin 1 ((1 + (INR n - 1) * (gamma * a * L n)) / INR n) in
  sees K D jstar (w (1 + a)) (w 1).
Proof.
  intros HK w j i Hjn Hi. assert (HN : 2 <= INR n) by exact (size_ge_2 D V).
  assert (HL := L_pos D V). assert (G := gamma_ge_1 D V j). assert (Ha : 0 <= a) by apply C.
  replace (if Nat.eqb j jstar then w (1 + a) else w 1) with (w (gamma D j))
    by (unfold gamma; rewrite Hm; simpl strength; destruct (Nat.eqb j jstar); reflexivity).
  assert (Sc : forall k, (k < n)%nat -> score D j k = gamma D j * L n + (if Nat.eqb k jstar then gamma D j * a * L n else 0)).
  { intros k Hk. rewrite (score_eq D V eq_refl) by assumption. simpl size. unfold gamma at 2. rewrite Hm. simpl strength.
    destruct (Nat.eqb k jstar); ring. }
  set (u := gamma D j * L n) in *. set (delta := gamma D j * a * L n) in *.
  assert (Hd : 0 <= delta) by (unfold delta; repeat apply Rmult_le_pos; simpl size in HL; lra).
  (* theta, so that max(v - theta, 0) sums to 1 *)
  assert (Th : exists theta, Rmax (u + delta - theta) 0 = w (gamma D j) /\
    Rmax (u - theta) 0 = (1 - w (gamma D j)) / (INR n - 1)).
  { unfold w. fold delta. destruct (Rle_dec 1 delta) as [H1|H1].
    - exists (u + delta - 1). rewrite Rmin_left.
      + rewrite Rmax_left, Rmax_right by lra. split; [ring | field; lra].
      + apply Rmult_le_reg_r with (INR n); [lra|].
        unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra.
    - set (q := (1 - delta) / INR n). assert (Eq : q * INR n = 1 - delta) by (unfold q; field; lra).
      assert (Hq : 0 < q) by (apply Rdiv_lt_0_compat; lra).
      assert (Ew : (1 + (INR n - 1) * delta) / INR n = q + delta) by (unfold q; field; lra).
      exists (u - q). rewrite Ew, Rmin_right by nra. rewrite !Rmax_left by lra.
      split; [ring|]. apply Rmult_eq_reg_r with (INR n - 1); [|lra].
      replace ((1 - (q + delta)) / (INR n - 1) * (INR n - 1)) with (1 - (q + delta)) by (field; lra). lra. }
  destruct Th as (theta & T1 & T2). set (z := w (gamma D j)) in *.
  assert (Val : forall k, (k < n)%nat -> Rmax (score D j k - theta) 0 = if Nat.eqb k jstar then z else (1 - z) / (INR n - 1)).
  { intros k Hk. rewrite Sc by assumption. destruct (Nat.eqb k jstar); [rewrite <- T1; f_equal; ring |].
    rewrite <- T2. f_equal. ring. }
  assert (Total : Sum n (fun k => Rmax (score D j k - theta) 0) = 1).
  { rewrite (Sum_one n jstar _ ((1 - z) / (INR n - 1)) Hj).
    - rewrite Val, Nat.eqb_refl by exact Hj. field. lra.
    - intros k Hk Hne. rewrite Val by assumption.
      replace (Nat.eqb k jstar) with false by (symmetry; apply Nat.eqb_neq; assumption). reflexivity. }
  rewrite (sparsemax_theta n (score D j) (f K D j) theta (HK j Hjn) Total i Hi), Val by exact Hi. reflexivity.
Qed.

(** [kernel-weights], in part: hard attention. *)
Theorem hard_weight : 0 < a -> sees hard D jstar 1 1.
Proof. exact hard_sees. Qed.

(** A row with all the weight on the mark. *)
Lemma all_weight_dot K j y : (j < n)%nat -> sees K D jstar 1 1 ->
  dot d (value D (f K D j)) y = a * y_first y + b c * y_star d jstar y + c * y_last d y.
Proof.
  intros Hjn S. assert (HN : 2 <= INR n) by exact (size_ge_2 D V).
  rewrite (dot_row d t jstar a c C K j 1 0).
  - unfold row_value. ring.
  - intros i Hi. rewrite S by assumption. unfold spread.
    destruct (Nat.eqb j jstar), (Nat.eqb i jstar); try reflexivity; field; simpl size; lra.
Qed.

Lemma all_weight_law K : sees K D jstar 1 1 ->
  P_column (tau D) K D = mean_of_eight (fun y1 yk yd => above (c + 1 / 10) (a * y1 + b c * yk + c * yd)).
Proof.
  intros S. rewrite P_column_hit.
  rewrite (mean_ext _ _ (fun y => (fun y1 yk yd _ => above (c + 1 / 10) (a * y1 + b c * yk + c * yd))
    (y_first y) (y_star d jstar y) (y_last d y) (y_others d jstar y))).
  - apply eq_trans with (1 := mean_eight_tokens d t jstar a c C
      (fun y1 yk yd (_ : R) => above (c + 1 / 10) (a * y1 + b c * yk + c * yd))).
    unfold mean_of_eight. rewrite !mean_const by apply all_signs_not_nil. reflexivity.
  - intros y _. rewrite (hit_one (tau D) K D jstar y Hj (rows_equal D jstar Hj K 1 1 S eq_refl)).
    apply above_iff. rewrite <- (all_weight_dot K jstar y Hj S).
    exact (exceeds_iff D V (c + 1 / 10) K jstar y).
Qed.

End Selection.

(** [selection-needs-a-small-b] *)
Theorem selection_needs_a_small_b d t jstar a0 a1 c :
  token_conditions d t jstar a0 c -> token_conditions d t jstar a1 c ->
  a0 + b c <= 1 / 10 -> 1 / 10 < a1 - b c -> a1 <= 1 ->
  let D0 := token_data d t jstar a0 c in
  let D1 := token_data d t jstar a1 c in
  (forall Y, List.Forall (fun y => In y (all_signs d)) Y -> F (tau D0) hard D0 Y = 0) /\
  P_column (tau D1) hard D1 = 1 / 4.
Proof.
  intros C0 C1 H0 H1 H2 D0 D1. assert (Hc : 0 < c < 1) by apply C0. assert (Ha0 : 0 <= a0) by apply C0. split.
  - intros Y HY. assert (V := token_valid d t jstar a0 c C0).
    apply Rle_antisym; [|apply Rmax_r]. apply Rnot_lt_le. intros P. apply F_fires in P.
    destruct P as (y & j & Hy & Hjn & P). rewrite List.Forall_forall in HY. apply HY in Hy.
    assert (W : shares D0 (f hard D0 j)) by (apply hard_weights; assert (X := proj1 C0); simpl; lia).
    apply (row_never D0 V (1 / 10) hard j W y Hy); [|exact P].
    assert (M := mass_le_1 D0 hard j W (marked D0)). simpl strength. simpl constant. nra.
  - assert (Ha1 : 0 < a1) by (unfold b in *; lra). unfold D1.
    rewrite (all_weight_law d t jstar a1 c C1 hard (hard_sees d t jstar a1 c C1 Ha1)).
    unfold mean_of_eight, above, b in *. repeat (destruct (Rlt_dec _ _); try lra).
Qed.

(** [selection-sees-which], in part: hard attention. *)
Theorem selection_sees_which d t jstar a :
  token_conditions d t jstar a (1 / 2) ->
  let D := token_data d t jstar a (1 / 2) in
  (0 < a -> sees hard D jstar 1 1) /\
  (0 < a < 4 / 10 -> P_column (tau D) hard D = 1 / 4) /\
  (a = 8 / 10 -> P_column (tau D) hard D = 3 / 8).
Proof.
  intros C D. split; [exact (hard_sees d t jstar a (1 / 2) C)|].
  split; intros H; unfold D;
    rewrite (all_weight_law d t jstar a (1 / 2) C hard (hard_sees d t jstar a (1 / 2) C ltac:(lra)));
    unfold mean_of_eight, above, b; repeat (destruct (Rlt_dec _ _); try lra).
Qed.
