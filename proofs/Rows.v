(** * From rows of weights to the network's firing.

    Proved here, for the general form of the data (any classes, any marked
    tokens), any kernel and any threshold: the outputs as masses of weights; when
    one row fires, and when it is silent; columns are independent; a column is as
    likely to fire as its rows allow. *)

From Coq Require Import Reals List Arith Bool Lra Lia Psatz.
Require Import Model Signs.
Import ListNotations.
Open Scope R_scope.

(** ** 1 or 0 *)

Lemma above_01 s x : above s x = 0 \/ above s x = 1.
Proof. unfold above. destruct (Rlt_dec s x); auto. Qed.

Lemma above_range s x : 0 <= above s x <= 1.
Proof. destruct (above_01 s x) as [-> | ->]; lra. Qed.

Lemma above_mono s x s' x' : x - s <= x' - s' -> above s x <= above s' x'.
Proof.
  intros H. unfold above. destruct (Rlt_dec s x), (Rlt_dec s' x'); lra.
Qed.

Lemma above_le s x z : 0 <= z -> (s < x -> 1 <= z) -> above s x <= z.
Proof. intros H0 H. unfold above. destruct (Rlt_dec s x); auto. Qed.

Lemma above_iff s x s' x' : (s < x <-> s' < x') -> above s x = above s' x'.
Proof. intros H. unfold above. destruct (Rlt_dec s x), (Rlt_dec s' x'); tauto. Qed.

Lemma above_plus x z : 0 <= x -> 0 <= z ->
  above 0 (x + z) = 1 - (1 - above 0 x) * (1 - above 0 z).
Proof.
  intros Hx Hz. unfold above. destruct (Rlt_dec 0 x), (Rlt_dec 0 z), (Rlt_dec 0 (x + z)); lra.
Qed.

Lemma above_relu x : above 0 (relu x) = above 0 x.
Proof. unfold above, relu, Rmax. destruct (Rle_dec x 0), (Rlt_dec 0 _), (Rlt_dec 0 x); lra. Qed.

Lemma shifted_relu_nonneg s z : 0 <= shifted_relu s z.
Proof. apply Rmax_r. Qed.

Lemma above_shifted_relu s z : above 0 (shifted_relu s z) = above s z.
Proof.
  unfold shifted_relu, above, Rmax.
  destruct (Rle_dec _ _), (Rlt_dec 0 _), (Rlt_dec _ _); try reflexivity; lra.
Qed.

(** A sum of non-negative terms is positive if and only if some term is. *)
Lemma Sum_pos_iff m g : (forall i, 0 <= g i) ->
  (0 < Sum m g <-> exists i, (i < m)%nat /\ 0 < g i).
Proof.
  intros Hg. induction m; simpl.
  - split; [intros H; exfalso; lra | intros (i & H & _); lia].
  - assert (P := Sum_nonneg m g ltac:(auto)). assert (Pm := Hg m). split.
    + intros H. destruct (Rlt_dec 0 (g m)) as [Hm|Hm]; [exists m; auto|].
      destruct (proj1 IHm ltac:(lra)) as (i & Hi & Hp). exists i. auto.
    + intros (i & Hi & Hp). destruct (Nat.eq_dec i m) as [->|E]; [lra|].
      assert (H : 0 < Sum m g) by (apply IHm; exists i; split; [lia | assumption]). lra.
Qed.

Lemma mean_signs_nonneg m F : (forall y, 0 <= F y) -> 0 <= mean (all_signs m) F.
Proof.
  intros H. rewrite <- (mean_const (all_signs m) 0) by apply all_signs_not_nil.
  apply mean_le; [apply all_signs_not_nil | auto].
Qed.

Lemma mean_signs_le_1 m F : (forall y, F y <= 1) -> mean (all_signs m) F <= 1.
Proof.
  intros H. rewrite <- (mean_const (all_signs m) 1) by apply all_signs_not_nil.
  apply mean_le; [apply all_signs_not_nil | auto].
Qed.

(** A sum of signs is >= 0 for at least half of all sign vectors. *)
Lemma half_nonneg m v : 1 / 2 <= mean (all_signs m) (fun y => reaches 0 (dot m v y)).
Proof.
  set (G := fun y => reaches 0 (dot m v y)).
  assert (H := mean_signs_opp m G).
  assert (1 <= mean (all_signs m) (fun y => G y + G (map Ropp y))).
  { rewrite <- (mean_const (all_signs m) 1) by apply all_signs_not_nil.
    apply mean_le; [apply all_signs_not_nil|]. intros y _. unfold G. rewrite dot_opp.
    unfold reaches. destruct (Rle_dec 0 (dot m v y)), (Rle_dec 0 (- dot m v y)); lra. }
  rewrite mean_plus in *. lra.
Qed.

Lemma sign_nth m y k : In y (all_signs m) -> (k < m)%nat -> is_sign (nth k y 0).
Proof.
  intros H Hk. apply all_signs_spec in H. destruct H as [Hl HF].
  rewrite List.Forall_forall in HF. apply HF, nth_In. lia.
Qed.

Lemma power_union x m : 0 <= x <= 1 -> 1 - (1 - x) ^ m <= INR m * x.
Proof.
  intros H. induction m; [simpl; lra|]. rewrite S_INR. simpl pow.
  assert (0 <= (1 - x) ^ m) by (apply pow_le; lra).
  assert ((1 - x) ^ m <= 1) by (rewrite <- (pow1 m) at 2; apply pow_incr; split; lra).
  nra.
Qed.

(** The signs y_1, y_k and y_d apart from all others. *)
Lemma mean_eight d k (v : nat -> R) (G : R -> R -> R -> R -> R) : (k < d - 2)%nat ->
  mean (all_signs d) (fun y => G (y_first y) (nth (S k) y 0) (y_last d y)
    (Sum (d - 2) (fun l => if Nat.eqb l k then 0 else v l * nth (S l) y 0))) =
  mean_of_eight (fun y1 yk yd => mean (all_signs (d - 3)) (fun y => G y1 yk yd (dot (d - 3) (skip k v) y))).
Proof.
  intros Hk.
  set (M := fun y1 yk yd => mean (all_signs (d - 3)) (fun y => G y1 yk yd (dot (d - 3) (skip k v) y))).
  set (H := fun y => G (y_first y) (nth (S k) y 0) (y_last d y)
    (Sum (d - 2) (fun l => if Nat.eqb l k then 0 else v l * nth (S l) y 0))).
  assert (E : forall y1 yk yd, mean (all_signs (d - 3)) (fun y => H (y1 :: insert k yk y ++ [yd])) = M y1 yk yd).
  { intros y1 yk yd. apply mean_ext. intros y Hy. apply all_signs_length in Hy. unfold H.
    assert (Li : length (insert k yk y) = (d - 2)%nat) by (rewrite insert_length by lia; lia).
    assert (Nk : forall l, (l < d - 2)%nat -> nth (S l) (y1 :: insert k yk y ++ [yd]) 0 = nth l (insert k yk y) 0)
      by (intros l Hl; simpl; rewrite app_nth1 by lia; reflexivity).
    f_equal.
    - rewrite Nk by assumption. assert (Hl : (k <= length y)%nat) by lia.
      clear - Hl. revert y Hl. induction k; intros y Hl; [destruct y; reflexivity|].
      destruct y as [|x y]; simpl in *; [lia | apply IHk; lia].
    - unfold y_last. replace (d - 1)%nat with (S (d - 2)) by lia. simpl.
      rewrite app_nth2, Li, Nat.sub_diag by lia. reflexivity.
    - rewrite (Sum_ext (d - 2) _ (fun l => (if Nat.eqb l k then 0 else v l) * nth l (insert k yk y) 0)).
      2: { intros l Hl. rewrite Nk by assumption. destruct (Nat.eqb l k); ring. }
      change (dot (d - 2) (fun l => if Nat.eqb l k then 0 else v l) (insert k yk y) = dot (d - 3) (skip k v) y).
      replace (d - 2)%nat with (S (d - 3)) at 1 by lia.
      rewrite dot_insert by lia. rewrite Nat.eqb_refl, Rmult_0_l, Rplus_0_l. apply Sum_ext. intros l Hl.
      f_equal. unfold skip. destruct (Nat.ltb l k) eqn:El.
      + apply Nat.ltb_lt in El. replace (Nat.eqb l k) with false by (symmetry; apply Nat.eqb_neq; lia). reflexivity.
      + apply Nat.ltb_ge in El. replace (Nat.eqb (S l) k) with false by (symmetry; apply Nat.eqb_neq; lia). reflexivity. }
  assert (Two : forall y1 yd, mean (all_signs (d - 2)) (fun y => H (y1 :: y ++ [yd])) = (M y1 1 yd + M y1 (-1) yd) / 2).
  { intros y1 yd. rewrite <- !E.
    rewrite <- (mean_signs_insert (d - 3) k (fun y => H (y1 :: y ++ [yd]))) by lia.
    f_equal. f_equal. lia. }
  assert (Four : mean (all_signs d) H =
    (mean (all_signs (d - 2)) (fun y => H (1 :: y ++ [1])) + mean (all_signs (d - 2)) (fun y => H (1 :: y ++ [-1])) +
     mean (all_signs (d - 2)) (fun y => H (-1 :: y ++ [1])) + mean (all_signs (d - 2)) (fun y => H (-1 :: y ++ [-1]))) / 4).
  { replace (all_signs d) with (all_signs (S (S (d - 2)))) by (f_equal; lia).
    rewrite mean_signs_S, (mean_signs_last (d - 2) (fun y => H (1 :: y))),
      (mean_signs_last (d - 2) (fun y => H (-1 :: y))). lra. }
  rewrite Four, !Two. unfold mean_of_eight. lra.
Qed.

(** ** Networks of m columns *)

Section Columns.

(** A column y contributes g y >= 0 and fires if g y > 0. *)
Variables (k : nat) (g : list R -> R).
Hypothesis Hg : forall y, 0 <= g y.

Lemma sum_fires Y :
  above 0 (relu (fold_right (fun y s => g y + s) 0 Y))
  = 1 - fold_right (fun y s => (1 - above 0 (g y)) * s) 1 Y.
Proof.
  rewrite above_relu. induction Y as [|y Y IH]; simpl.
  - unfold above. destruct (Rlt_dec 0 0); lra.
  - rewrite above_plus; [rewrite IH; ring | apply Hg |].
    clear IH. induction Y as [|z Y IH]; simpl; [lra|]. assert (H := Hg z). lra.
Qed.

Lemma sum_fires_iff Y :
  0 < relu (fold_right (fun y s => g y + s) 0 Y) <-> exists y, In y Y /\ 0 < g y.
Proof.
  assert (R : forall x, 0 < relu x <-> 0 < x).
  { intros x. unfold relu, Rmax. destruct (Rle_dec x 0); split; lra. }
  rewrite R. induction Y as [|y Y IH]; simpl.
  - split; [intros H; exfalso; lra | intros (y & [] & _)].
  - assert (P := Hg y).
    assert (P' : 0 <= fold_right (fun y s => g y + s) 0 Y).
    { clear - Hg. induction Y as [|z Y IH]; simpl; [lra|]. assert (H := Hg z). lra. }
    split.
    + intros H. destruct (Rlt_dec 0 (g y)) as [Hy|Hy]; [exists y; auto|].
      destruct (proj1 IH ltac:(lra)) as (z & Hz & Pz). exists z. auto.
    + intros (z & [<-|Hz] & Pz); [lra|].
      assert (H : 0 < fold_right (fun y s => g y + s) 0 Y) by (apply IH; exists z; auto). lra.
Qed.

Lemma network_fires m :
  mean (all_columns m k) (fun Y => above 0 (relu (fold_right (fun y s => g y + s) 0 Y)))
  = 1 - (1 - mean (all_signs k) (fun y => above 0 (g y))) ^ m.
Proof.
  rewrite (mean_ext _ _ (fun Y => 1 + -1 * fold_right (fun y s => (1 - above 0 (g y)) * s) 1 Y))
    by (intros Y _; rewrite sum_fires; ring).
  rewrite mean_plus, mean_const, mean_scal by apply all_columns_not_nil.
  assert (E : mean (all_columns m k) (fold_right (fun y s => (1 - above 0 (g y)) * s) 1)
              = mean (all_signs k) (fun y => 1 - above 0 (g y)) ^ m)
    by exact (columns_independent m k (fun y => 1 - above 0 (g y))).
  rewrite E.
  rewrite (mean_ext (all_signs k) (fun y => 1 - above 0 (g y)) (fun y => 1 + -1 * above 0 (g y)))
    by (intros; ring).
  rewrite mean_plus, mean_const, mean_scal by apply all_signs_not_nil.
  replace (1 + -1 * mean (all_signs k) (fun y => above 0 (g y)))
    with (1 - mean (all_signs k) (fun y => above 0 (g y))) by ring. ring.
Qed.

End Columns.

Section Network.

Variables (s : R) (K : kernels) (D : data).

(** What one column adds up over the rows. *)
Definition excess (y : list R) : R :=
  Sum (size D) (fun j => shifted_relu s (dot (width D) (o K D j) y)).

(** 1 if some row exceeds, else 0. *)
Definition hit (y : list R) : R :=
  if existsb (fun j => if Rlt_dec s (dot (width D) (o K D j) y) then true else false)
       (seq 0 (size D)) then 1 else 0.

Definition P_row (j : nat) : R :=
  mean (all_signs (width D)) (fun y => above s (dot (width D) (o K D j) y)).

Lemma excess_nonneg y : 0 <= excess y.
Proof. apply Sum_nonneg. intros; apply shifted_relu_nonneg. Qed.

Lemma hit_true y :
  (exists j, (j < size D)%nat /\ s < dot (width D) (o K D j) y) -> hit y = 1.
Proof.
  intros (j & Hj & H). unfold hit.
  replace (existsb _ _) with true; [reflexivity|]. symmetry. apply existsb_exists.
  exists j. split; [apply in_seq; lia|]. destruct (Rlt_dec _ _); [reflexivity | contradiction].
Qed.

Lemma hit_false y :
  (forall j, (j < size D)%nat -> ~ s < dot (width D) (o K D j) y) -> hit y = 0.
Proof.
  intros H. unfold hit. replace (existsb _ _) with false; [reflexivity|]. symmetry.
  apply not_true_is_false. intros E. apply existsb_exists in E. destruct E as (j & Hj & E).
  apply in_seq in Hj. destruct (Rlt_dec _ _) as [H'|]; [apply (H j); [lia | assumption] | discriminate].
Qed.

Lemma hit_cases y :
  (hit y = 1 /\ exists j, (j < size D)%nat /\ s < dot (width D) (o K D j) y) \/
  (hit y = 0 /\ forall j, (j < size D)%nat -> ~ s < dot (width D) (o K D j) y).
Proof.
  destruct (all_or_one (size D) (fun j => ~ s < dot (width D) (o K D j) y)) as [H | (j & Hj & H)].
  - intros j. destruct (Rlt_dec s (dot (width D) (o K D j) y)); auto.
  - right. split; [apply hit_false|]; assumption.
  - left. assert (E : exists j, (j < size D)%nat /\ s < dot (width D) (o K D j) y).
    { exists j. split; [assumption|]. destruct (Rlt_dec s (dot (width D) (o K D j) y)); tauto. }
    split; [apply hit_true|]; assumption.
Qed.

Lemma hit_range y : 0 <= hit y <= 1.
Proof. destruct (hit_cases y) as [(-> & _) | (-> & _)]; lra. Qed.

Lemma hit_excess y : above 0 (excess y) = hit y.
Proof.
  assert (E := Sum_pos_iff (size D) (fun j => shifted_relu s (dot (width D) (o K D j) y))
    (fun i => shifted_relu_nonneg _ _)). fold (excess y) in E.
  assert (S : forall j, 0 < shifted_relu s (dot (width D) (o K D j) y) <-> s < dot (width D) (o K D j) y).
  { intros j. assert (H := above_shifted_relu s (dot (width D) (o K D j) y)).
    unfold above in H. destruct (Rlt_dec 0 _), (Rlt_dec s _); try lra; tauto. }
  destruct (hit_cases y) as [(-> & j & Hj & H) | (-> & H)]; unfold above; destruct (Rlt_dec 0 _) as [P|P]; try reflexivity; exfalso.
  - apply P, E. exists j. split; [assumption | apply S; assumption].
  - apply E in P. destruct P as (j & Hj & P). apply (H j Hj), S. assumption.
Qed.

Lemma P_column_hit : P_column s K D = mean (all_signs (width D)) hit.
Proof. reflexivity. Qed.

Lemma F_eq Y : F s K D Y = relu (fold_right (fun y r => excess y + r) 0 Y).
Proof.
  unfold F. f_equal. induction Y as [|y Y IH]; simpl.
  - rewrite Sum_const. ring.
  - rewrite Sum_plus, IH. reflexivity.
Qed.

(** F fires if and only if some row of some column exceeds the threshold. *)
Lemma F_fires Y : 0 < F s K D Y <->
  exists y j, In y Y /\ (j < size D)%nat /\ s < dot (width D) (o K D j) y.
Proof.
  rewrite F_eq, (sum_fires_iff excess excess_nonneg). split.
  - intros (y & Hy & H). unfold excess in H. apply Sum_pos_iff in H; [|intros; apply shifted_relu_nonneg].
    destruct H as (j & Hj & H). exists y, j. split; [assumption | split; [assumption|]].
    unfold shifted_relu, Rmax in H. destruct (Rle_dec _ _); lra.
  - intros (y & j & Hy & Hj & H). exists y. split; [assumption|]. unfold excess.
    apply Sum_pos_iff; [intros; apply shifted_relu_nonneg|]. exists j. split; [assumption|].
    unfold shifted_relu, Rmax. destruct (Rle_dec _ _); lra.
Qed.

(** Columns are independent: P[F fires] = 1 - (1 - pi)^m. *)
Theorem P_fires_eq m : P_fires s K D m = 1 - (1 - P_column s K D) ^ m.
Proof.
  unfold P_fires.
  rewrite (mean_ext _ _ (fun Y => above 0 (relu (fold_right (fun y r => excess y + r) 0 Y))))
    by (intros; rewrite F_eq; reflexivity).
  rewrite (network_fires (width D) excess excess_nonneg). rewrite P_column_hit.
  do 3 f_equal. apply mean_ext. intros; apply hit_excess.
Qed.

Lemma P_column_range : 0 <= P_column s K D <= 1.
Proof.
  rewrite P_column_hit. split;
    [apply mean_signs_nonneg | apply mean_signs_le_1]; intros; apply hit_range.
Qed.

(** The union bound over columns. *)
Lemma P_fires_le m : P_fires s K D m <= INR m * P_column s K D.
Proof. rewrite P_fires_eq. apply power_union, P_column_range. Qed.

Lemma P_fires_le_bound m x : P_column s K D <= x -> P_fires s K D m <= INR m * x.
Proof.
  intros H. apply Rle_trans with (1 := P_fires_le m).
  apply Rmult_le_compat_l; [apply pos_INR | assumption].
Qed.

Lemma P_fires_ge m x : 0 <= x <= 1 -> 1 - x <= P_column s K D -> 1 - x ^ m <= P_fires s K D m.
Proof.
  intros Hx H. rewrite P_fires_eq. assert (R := P_column_range).
  assert ((1 - P_column s K D) ^ m <= x ^ m) by (apply pow_incr; split; lra). lra.
Qed.

Lemma P_column_ge j : (j < size D)%nat -> P_row j <= P_column s K D.
Proof.
  intros Hj. rewrite P_column_hit. apply mean_le; [apply all_signs_not_nil|]. intros y _.
  apply above_le; [apply hit_range|]. intros H. rewrite hit_true; [lra | exists j; auto].
Qed.

(** Two rows with the same output. *)
Definition alike (i j : nat) : Prop := forall k, (k < width D)%nat -> o K D i k = o K D j k.

Lemma alike_dot i j y : alike i j -> dot (width D) (o K D i) y = dot (width D) (o K D j) y.
Proof. intros H. apply Sum_ext. intros k Hk. rewrite H by assumption. reflexivity. Qed.

(** All rows are like one of two. *)
Lemma hit_two j1 j2 y : (j1 < size D)%nat -> (j2 < size D)%nat ->
  (forall j, (j < size D)%nat -> alike j j1 \/ alike j j2) ->
  hit y = 1 - (1 - above s (dot (width D) (o K D j1) y)) * (1 - above s (dot (width D) (o K D j2) y)).
Proof.
  intros H1 H2 H. unfold above.
  destruct (hit_cases y) as [(-> & j & Hj & Hs) | (-> & Hn)].
  - destruct (H j Hj) as [E|E]; apply (alike_dot _ _ y) in E; rewrite E in Hs;
      destruct (Rlt_dec s (dot _ (o K D j1) y)), (Rlt_dec s (dot _ (o K D j2) y)); lra.
  - assert (N1 := Hn j1 H1). assert (N2 := Hn j2 H2).
    destruct (Rlt_dec s (dot _ (o K D j1) y)), (Rlt_dec s (dot _ (o K D j2) y)); try tauto; lra.
Qed.

Lemma P_column_two j1 j2 : (j1 < size D)%nat -> (j2 < size D)%nat ->
  (forall j, (j < size D)%nat -> alike j j1 \/ alike j j2) ->
  P_column s K D <= P_row j1 + P_row j2.
Proof.
  intros H1 H2 H. rewrite P_column_hit. unfold P_row. rewrite <- mean_plus.
  apply mean_le; [apply all_signs_not_nil|]. intros y _. rewrite (hit_two j1 j2) by assumption.
  assert (R1 := above_range s (dot (width D) (o K D j1) y)).
  assert (R2 := above_range s (dot (width D) (o K D j2) y)). nra.
Qed.

(** All rows are alike. *)
Lemma hit_one j1 y : (j1 < size D)%nat -> (forall j, (j < size D)%nat -> alike j j1) ->
  hit y = above s (dot (width D) (o K D j1) y).
Proof.
  intros H1 H. rewrite (hit_two j1 j1) by auto.
  destruct (above_01 s (dot (width D) (o K D j1) y)) as [-> | ->]; ring.
Qed.

Lemma P_column_one j1 : (j1 < size D)%nat -> (forall j, (j < size D)%nat -> alike j j1) ->
  P_column s K D = P_row j1.
Proof.
  intros H1 H. rewrite P_column_hit. apply mean_ext. intros; apply hit_one; assumption.
Qed.

End Network.

(** ** The outputs, as masses of weights *)

Section Masses.

Variable D : data.
Hypothesis V : conditions D.

Let k0 := (width D - 2)%nat.
Let a := strength D.
Let c := constant D.
Let root := sqrt (L (size D)).

Lemma widths : (1 <= k0)%nat /\ width D = S (S k0).
Proof.
  unfold k0. destruct V as (H & _ & _ & H'). specialize (H' O ltac:(lia)). lia.
Qed.

Lemma size_ge_2 : 2 <= INR (size D).
Proof. apply (le_INR 2). apply V. Qed.

Lemma L_pos : 0 < L (size D).
Proof. assert (H := size_ge_2). unfold L. rewrite <- ln_1. apply ln_increasing; lra. Qed.

Lemma root_pos : 0 < root.
Proof. apply sqrt_lt_R0, L_pos. Qed.

Lemma b_range : 0 < b c < 1.
Proof. unfold b, c. destruct V as (_ & _ & H & _). lra. Qed.

Lemma A_first i : A D i O = (if marked D i then a * root else 0).
Proof. reflexivity. Qed.

Lemma A_last i : A D i (S k0) = c * root.
Proof.
  destruct widths as (_ & Hd). unfold A. rewrite Hd. simpl. rewrite Nat.eqb_refl. reflexivity.
Qed.

Lemma A_class i k : (k < k0)%nat -> A D i (S k) = if Nat.eqb k (class D i) then b c * root else 0.
Proof.
  intros Hk. destruct widths as (_ & Hd). unfold A. change (Nat.eqb (S k) 0) with false.
  replace (Nat.eqb (S k) (width D - 1)) with false by (symmetry; apply Nat.eqb_neq; lia).
  replace (S k - 1)%nat with k by lia. reflexivity.
Qed.

Lemma Sum_width g : Sum (width D) g = g O + Sum k0 (fun k => g (S k)) + g (S k0).
Proof.
  destruct widths as (_ & ->). change (Sum (S (S k0)) g) with (Sum (S k0) g + g (S k0)).
  rewrite Sum_shift. reflexivity.
Qed.

(** The weight of all tokens with a property. *)
Definition mass (T : nat -> bool) (w : vector) : R :=
  Sum (size D) (fun i => if T i then w i else 0).

Definition in_class (k i : nat) : bool := Nat.eqb k (class D i).

(** The output of a row with the weights w, divided by root L. *)
Definition value (w : vector) : vector := fun k =>
  match k with
  | O => a * mass (marked D) w
  | S l => if Nat.eqb l k0 then c * Sum (size D) w else b c * mass (in_class l) w
  end.

Theorem output_values w k : (k < width D)%nat ->
  Sum (size D) (fun i => A D i k * w i) = root * value w k.
Proof.
  intros Hk. destruct widths as (_ & Hd). unfold value, mass. destruct k as [|l].
  - rewrite <- Rmult_assoc, <- Sum_scal. apply Sum_ext. intros i _. rewrite A_first.
    destruct (marked D i); ring.
  - destruct (Nat.eqb l k0) eqn:E.
    + apply Nat.eqb_eq in E. subst l. rewrite <- Rmult_assoc, <- Sum_scal.
      apply Sum_ext. intros i _. rewrite A_last. ring.
    + apply Nat.eqb_neq in E. rewrite <- Rmult_assoc, <- Sum_scal. apply Sum_ext.
      intros i _. rewrite A_class by lia. unfold in_class.
      destruct (Nat.eqb l (class D i)); ring.
Qed.

Lemma o_eq K j k : (k < width D)%nat -> o K D j k = root * value (f K D j) k.
Proof. intros Hk. apply output_values. assumption. Qed.

Lemma dot_o K j y : dot (width D) (o K D j) y = root * dot (width D) (value (f K D j)) y.
Proof.
  rewrite <- dot_scal. apply Sum_ext. intros k Hk. rewrite o_eq by assumption. reflexivity.
Qed.

(** Thresholds are multiples of root L. *)
Lemma exceeds_iff g K j y :
  g * root < dot (width D) (o K D j) y <-> g < dot (width D) (value (f K D j)) y.
Proof.
  rewrite dot_o. assert (H := root_pos). split; intros H1.
  - apply Rmult_lt_reg_l with root; lra.
  - rewrite Rmult_comm. apply Rmult_lt_compat_l; assumption.
Qed.

Lemma P_row_value g K j :
  P_row (g * root) K D j = mean (all_signs (width D)) (fun y => above g (dot (width D) (value (f K D j)) y)).
Proof. apply mean_ext. intros y _. apply above_iff, exceeds_iff. Qed.

Lemma alike_weights K i j :
  (forall k, (k < size D)%nat -> f K D i k = f K D j k) -> alike K D i j.
Proof.
  intros H k Hk. apply Sum_ext. intros l Hl.
  change (A D l k * f K D i l = A D l k * f K D j l). rewrite H by assumption. reflexivity.
Qed.

(** The value of a column whose signs are y1, then y, then yd. *)
Lemma dot_value w y1 y yd : length y = k0 ->
  dot (width D) (value w) (y1 :: y ++ yd :: nil) =
  a * mass (marked D) w * y1 + dot k0 (fun l => value w (S l)) y + c * Sum (size D) w * yd.
Proof.
  intros H. destruct widths as (_ & ->). rewrite dot_cons, dot_last by assumption.
  simpl value at 1. replace (value w (S k0)) with (c * Sum (size D) w)
    by (simpl; rewrite Nat.eqb_refl; reflexivity). ring.
Qed.

(** A mean over all columns, split by the first and the last sign. *)
Lemma mean_split (G : list R -> R) :
  let M := fun y1 yd => mean (all_signs k0) (fun y => G (y1 :: y ++ yd :: nil)) in
  mean (all_signs (width D)) G = (M 1 1 + M 1 (-1) + M (-1) 1 + M (-1) (-1)) / 4.
Proof.
  intros M. destruct widths as (_ & ->). rewrite mean_signs_S.
  rewrite (mean_signs_last k0 (fun y => G (1 :: y))), (mean_signs_last k0 (fun y => G (-1 :: y))).
  unfold M. lra.
Qed.

(** Every token has one class. *)
Lemma mass_total w : Sum k0 (fun k => mass (in_class k) w) = Sum (size D) w.
Proof.
  unfold mass. rewrite Sum_swap. apply Sum_ext. intros i Hi.
  assert (Hc : (class D i < k0)%nat) by (apply V; assumption).
  rewrite (Sum_one k0 (class D i) _ 0); [|assumption|].
  - unfold in_class. rewrite Nat.eqb_refl. ring.
  - intros k _ Hk. unfold in_class.
    replace (Nat.eqb k (class D i)) with false by (symmetry; apply Nat.eqb_neq; assumption). reflexivity.
Qed.

(** ** Weights that are not negative and sum to 1 *)

Definition shares (w : vector) : Prop :=
  (forall i, (i < size D)%nat -> 0 <= w i) /\ Sum (size D) w = 1.

Section Shares.

Variables (g : R) (K : kernels) (j : nat).
Let w := f K D j.
Hypothesis W : shares w.

Lemma mass_nonneg T : 0 <= mass T w.
Proof.
  apply Sum_nonneg. intros i Hi. destruct (T i); [apply W; assumption | lra].
Qed.

Lemma mass_ge T i : (i < size D)%nat -> T i = true -> w i <= mass T w.
Proof.
  intros Hi HT. assert (H := Sum_ge_one (size D) i (fun i => if T i then w i else 0) Hi).
  cbv beta in H. rewrite HT in H. apply H. intros k Hk. destruct (T k); [apply W; assumption | lra].
Qed.

Lemma mass_le_1 T : mass T w <= 1.
Proof.
  destruct W as (W0 & <-). apply Sum_le. intros i Hi. assert (H := W0 i Hi). destruct (T i); lra.
Qed.

Lemma class_value l : (l < k0)%nat -> value w (S l) = b c * mass (in_class l) w.
Proof.
  intros Hl. unfold value. replace (Nat.eqb l k0) with false; [reflexivity|].
  symmetry. apply Nat.eqb_neq. lia.
Qed.

(** The classes' part of a row's value. *)
Let T (y : list R) : R := dot k0 (fun l => value w (S l)) y.

Lemma row_split :
  let M := fun y1 yd => mean (all_signs k0)
    (fun y => above (c + g) (a * mass (marked D) w * y1 + T y + c * yd)) in
  P_row ((c + g) * root) K D j = (M 1 1 + M 1 (-1) + M (-1) 1 + M (-1) (-1)) / 4.
Proof.
  intros M. rewrite P_row_value, mean_split. cbv zeta. f_equal. unfold M.
  assert (E : forall y1 yd,
    mean (all_signs k0) (fun y => above (c + g) (dot (width D) (value (f K D j)) (y1 :: y ++ yd :: nil)))
    = mean (all_signs k0) (fun y => above (c + g) (a * mass (marked D) w * y1 + T y + c * yd))).
  { intros y1 yd. apply mean_ext. intros y Hy. rewrite dot_value by (apply all_signs_length; assumption).
    fold w. rewrite (proj2 W), Rmult_1_r. reflexivity. }
  rewrite !E. reflexivity.
Qed.

(** The marks alone: 1/8. *)
Theorem row_fires_eighth : g < a * mass (marked D) w -> 1 / 8 <= P_row ((c + g) * root) K D j.
Proof.
  intros H. rewrite row_split. set (M := fun y1 yd => mean (all_signs k0)
    (fun y => above (c + g) (a * mass (marked D) w * y1 + T y + c * yd))).
  fold (M 1 1) (M 1 (-1)) (M (-1) 1) (M (-1) (-1)).
  assert (P : forall x z, 0 <= M x z) by (intros; apply mean_signs_nonneg; intros; apply above_range).
  assert (1 / 2 <= M 1 1).
  { apply Rle_trans with (1 := half_nonneg k0 (fun l => value w (S l))).
    apply mean_le; [apply all_signs_not_nil|]. intros y _. fold (T y). unfold above, reaches.
    destruct (Rle_dec 0 (T y)), (Rlt_dec _ _); lra. }
  assert (H1 := P 1 (-1)). assert (H2 := P (-1) 1). assert (H3 := P (-1) (-1)). lra.
Qed.

(** The marks and one class: 1/16. *)
Theorem row_fires_sixteenth k : (k < k0)%nat ->
  g < a * mass (marked D) w + b c * mass (in_class k) w ->
  1 / 16 <= P_row ((c + g) * root) K D j.
Proof.
  intros Hk H. rewrite row_split. set (M := fun y1 yd => mean (all_signs k0)
    (fun y => above (c + g) (a * mass (marked D) w * y1 + T y + c * yd))).
  fold (M 1 1) (M 1 (-1)) (M (-1) 1) (M (-1) (-1)).
  assert (P : forall x z, 0 <= M x z) by (intros; apply mean_signs_nonneg; intros; apply above_range).
  assert (1 / 4 <= M 1 1).
  { unfold M. destruct widths as (H1 & _). set (m := (k0 - 1)%nat).
    assert (Em : k0 = S m) by (unfold m; lia). rewrite Em, (mean_signs_insert m k) by lia.
    set (v := fun l => value w (S l)).
    assert (1 / 2 <= mean (all_signs m) (fun y =>
      above (c + g) (a * mass (marked D) w * 1 + T (insert k 1 y) + c * 1))).
    { apply Rle_trans with (1 := half_nonneg m (skip k v)).
      apply mean_le; [apply all_signs_not_nil|]. intros y Hy.
      unfold T. rewrite Em. fold v. rewrite dot_insert by (try apply all_signs_length; try lia; assumption).
      unfold v at 2. rewrite class_value by assumption. unfold above, reaches.
      destruct (Rle_dec 0 _), (Rlt_dec _ _); lra. }
    assert (0 <= mean (all_signs m) (fun y =>
      above (c + g) (a * mass (marked D) w * 1 + T (insert k (-1) y) + c * 1)))
      by (apply mean_signs_nonneg; intros; apply above_range).
    lra. }
  assert (H1 := P 1 (-1)). assert (H2 := P (-1) 1). assert (H3 := P (-1) (-1)). lra.
Qed.

(** Hoeffding: what is sure of a row is z; the rest has the weights v. *)
Lemma row_silent v z B : z < g -> 0 < B ->
  Sum k0 (fun l => v l ^ 2) <= B ->
  (forall y, In y (all_signs k0) -> a * mass (marked D) w + T y <= z + dot k0 v y) ->
  P_row ((c + g) * root) K D j <= exp (- ((g - z) ^ 2 / (2 * B))).
Proof.
  intros Hz HB HN H. rewrite row_split. set (M := fun y1 yd => mean (all_signs k0)
    (fun y => above (c + g) (a * mass (marked D) w * y1 + T y + c * yd))).
  fold (M 1 1) (M 1 (-1)) (M (-1) 1) (M (-1) (-1)).
  assert (Ha : 0 <= a) by apply V. assert (Hc : 0 < c) by apply V.
  assert (HM := mass_nonneg (marked D)).
  assert (E : forall y1 yd, is_sign y1 -> is_sign yd -> M y1 yd <= exp (- ((g - z) ^ 2 / (2 * B)))).
  { intros y1 yd S1 Sd. apply Rle_trans with (2 := hoeffding_above k0 v (g - z) B ltac:(lra) HB HN).
    apply mean_le; [apply all_signs_not_nil|]. intros y Hy. apply above_mono.
    assert (H' := H y Hy). assert (0 <= a * mass (marked D) w) by (apply Rmult_le_pos; assumption).
    destruct S1 as [-> | ->], Sd as [-> | ->]; lra. }
  assert (S1 : is_sign 1) by (left; reflexivity). assert (S2 : is_sign (-1)) by (right; reflexivity).
  assert (E1 := E 1 1 S1 S1). assert (E2 := E 1 (-1) S1 S2).
  assert (E3 := E (-1) 1 S2 S1). assert (E4 := E (-1) (-1) S2 S2). lra.
Qed.

(** The marks are too weak, and the classes' masses have the squared norm B at most. *)
Theorem row_silent_masses B : a * mass (marked D) w < g ->
  Sum k0 (fun l => mass (in_class l) w ^ 2) <= B ->
  P_row ((c + g) * root) K D j <= exp (- ((g - a * mass (marked D) w) ^ 2 / (2 * b c ^ 2 * B))).
Proof.
  intros H HB. assert (Hb := b_range).
  assert (HB0 : 0 < B).
  { apply Rlt_le_trans with (2 := HB).
    destruct (all_or_one k0 (fun l => mass (in_class l) w = 0)) as [Z | (l & Hl & Z)];
      [intros; apply Req_dec | | apply Sum_squares_pos with l; assumption].
    exfalso. assert (E := mass_total w). rewrite (Sum_ext _ _ (fun _ => 0)), Sum_const in E by assumption.
    rewrite (proj2 W) in E. lra. }
  rewrite Rmult_assoc. apply row_silent with (fun l => value w (S l)).
  - assumption.
  - apply Rmult_lt_0_compat; [apply pow_lt|]; lra.
  - rewrite (Sum_ext _ _ (fun l => b c ^ 2 * mass (in_class l) w ^ 2))
      by (intros l Hl; rewrite class_value by assumption; ring).
    rewrite Sum_scal. apply Rmult_le_compat_l; [apply pow_le; lra | assumption].
  - intros y _. unfold T. lra.
Qed.

(** No signs at all make a row fire whose whole value is too small. *)
Theorem row_never y : In y (all_signs (width D)) -> a * mass (marked D) w + b c <= g ->
  ~ (c + g) * root < dot (width D) (o K D j) y.
Proof.
  intros Hy H Hs. apply exceeds_iff in Hs. fold w in Hs.
  assert (Ha : 0 <= a) by apply V. assert (Hc : 0 < c) by apply V. assert (Hb := b_range).
  assert (B : dot (width D) (value w) y <= Sum (width D) (value w)).
  { apply Sum_le. intros k Hk.
    assert (P : 0 <= value w k).
    { unfold value. destruct k as [|l]; [apply Rmult_le_pos; [assumption | apply mass_nonneg]|].
      destruct (Nat.eqb l k0); [rewrite (proj2 W); lra|].
      apply Rmult_le_pos; [lra | apply mass_nonneg]. }
    destruct (sign_nth _ _ k Hy Hk) as [-> | ->]; lra. }
  rewrite Sum_width in B.
  rewrite (Sum_ext k0 _ (fun l => b c * mass (in_class l) w)) in B by (intros; apply class_value; assumption).
  rewrite Sum_scal, mass_total in B. unfold value in B at 2 3. rewrite Nat.eqb_refl, (proj2 W) in B. lra.
Qed.

End Shares.

End Masses.
