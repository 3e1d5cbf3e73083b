(** * Formulas for the weights of Lemma D.2.

    Proved here: the quotients of Lemma D.2 for all real n; from which n on the
    exponential amplifies; how well the mark hides on D_0; the weight margin of
    linear attention. *)

From Coq Require Import Reals Lra Lia Psatz.
Require Import Model Signs Attention Golden.
Open Scope R_scope.

(** [certified-weights] *)
Theorem certified_weights (n a : R) : 0 < a -> 1 < n ->
  let L := ln n in
  Rpower n ((1 + a) ^ 2) / (Rpower n ((1 + a) ^ 2) + (n - 1) * Rpower n (1 + a))
    = 1 / (1 + (n - 1) * Rpower n (- (a * (1 + a)))) /\
  Rpower n (1 + a) / (Rpower n (1 + a) + (n - 1) * n) = 1 / (1 + (n - 1) * Rpower n (- a)) /\
  (1 + a) ^ 2 * L / ((1 + a) * (n + a) * L) = (1 + a) / (n + a) /\
  (1 + a) * L / ((n + a) * L) = (1 + a) / (n + a).
Proof.
  intros Ha Hn L. assert (HL : 0 < L) by (unfold L; rewrite <- ln_1; apply ln_increasing; lra).
  split; [|split; [|split]]; [| | field; lra | field; lra].
  - replace ((1 + a) ^ 2) with (1 + a + a * (1 + a)) by ring. rewrite Rpower_plus, Rpower_Ropp.
    assert (P := Rpower_pos n (1 + a)). assert (P' := Rpower_pos n (a * (1 + a))).
    set (g := Rpower n (1 + a)) in *. set (h := Rpower n (a * (1 + a))) in *.
    assert (0 < g * h) by (apply Rmult_lt_0_compat; assumption).
    assert (0 < (n - 1) * g) by (apply Rmult_lt_0_compat; lra). field. repeat split; lra.
  - rewrite Rpower_plus, Rpower_1, Rpower_Ropp by lra. assert (P := Rpower_pos n a).
    set (g := Rpower n a) in *. assert (0 < n * g) by (apply Rmult_lt_0_compat; lra).
    assert (0 < (n - 1) * n) by (apply Rmult_lt_0_compat; lra). field. repeat split; lra.
Qed.

Lemma ln_2_small : ln 2 < 25 / 36.
Proof.
  assert (B := exp_ineq1_le (25 / 36 / 512)).
  assert (P : (1 + 25 / 36 / 512) ^ 512 <= exp (25 / 36 / 512) ^ 512) by (apply pow_incr; lra).
  assert (E : exp (25 / 36 / 512) ^ 512 = exp (25 / 36)).
  { rewrite <- Rpower_pow by apply exp_pos. unfold Rpower. rewrite ln_exp. f_equal.
    rewrite INR_IZR_INZ. simpl IZR. field. }
  rewrite E in P. apply Rlt_le_trans with (ln (exp (25 / 36))); [|rewrite ln_exp; lra].
  apply ln_increasing; [lra|]. apply Rlt_le_trans with (2 := P).
  apply Rlt_le_trans with (2001 / 1000); [lra|].
  replace (2001 / 1000) with ((2001 / 1000) ^ 1) by ring.
  replace (1 + 25 / 36 / 512) with (18457 / 18432) by field.
  apply pow_fraction_le; vm_compute; reflexivity.
Qed.

(** [mechanism-1-from-three-tokens] *)
Theorem mechanism_1_from_three_tokens :
  (forall (n : nat) a, (3 <= n)%nat -> 0 < a -> 1 + a < Rpower (INR n) (a * (1 + a))) /\
  (forall a, 0 < a <= 2 / 10 -> ~ 1 + a < Rpower 2 (a * (1 + a))).
Proof.
  split.
  - intros n a Hn Ha. apply le_INR in Hn. simpl in Hn. set (x := INR n) in *.
    assert (L1 : 1 <= ln x).
    { rewrite <- (ln_exp 1). assert (E := exp_le_3).
      assert (H : exp 1 <= x) by lra. destruct H as [H| ->]; [left; apply ln_increasing; [apply exp_pos | assumption] | lra]. }
    unfold Rpower. assert (P : 0 < a * (1 + a)) by nra.
    assert (E := exp_ineq1_le (a * (1 + a) * ln x)). nra.
  - intros a [Ha Ha2] H. assert (L2 := ln_2_small).
    apply ln_increasing in H; [|lra]. unfold Rpower in H. rewrite ln_exp in H.
    (* log(1 + a) >= a / (1 + a) *)
    assert (E := exp_ineq1_le (- ln (1 + a))). rewrite exp_Ropp, exp_ln in E by lra.
    assert (La : a / (1 + a) <= ln (1 + a)) by (replace (a / (1 + a)) with (1 - / (1 + a)) by (field; lra); lra).
    assert (Q : a / (1 + a) * (1 + a) = a) by (field; lra).
    assert (H' : a / (1 + a) < a * (1 + a) * ln 2) by lra.
    apply (Rmult_lt_compat_r (1 + a)) in H'; [|lra]. rewrite Q in H'.
    assert ((1 + a) * (1 + a) * ln 2 <= 1) by nra. nra.
Qed.

(** [certified-mark-is-hidden]; a = 1.5 and n = 36 is the equality. *)
Theorem certified_mark_is_hidden :
  (forall (n : nat) a, (2 <= n)%nat -> 0 <= a <= 1 / 10 ->
    let N := INR n in
    a * p N a <= 524 / 10000 /\ a * q N a <= 524 / 10000 /\ a * p_lin N a <= 524 / 10000) /\
  (forall (n : nat) a, (2 <= n)%nat -> 0 <= a ->
    (a * p_lin (INR n) a < 1 / 10 <-> 9 * a + 10 * a ^ 2 < INR n)) /\
  (forall (n : nat) a, (37 <= n)%nat -> 0 <= a <= 15 / 10 -> 9 * a + 10 * a ^ 2 < INR n) /\
  9 * (15 / 10) + 10 * (15 / 10) ^ 2 = 36.
Proof.
  split; [|split; [|split; [|lra]]].
  - intros n a Hn Ha N. apply (le_INR 2) in Hn. simpl INR in Hn at 1. fold N in Hn.
    assert (G : forall k, k <= 11 / 100 -> a * seen N k <= 524 / 10000).
    { intros k Hk. assert (Up : seen N k <= 524 / 1000).
      { apply Rle_trans with (seen N (11 / 100)).
        - destruct Hk as [Hk| ->]; [left; apply seen_lt; lra | lra].
        - apply seen_le; [lra | lra |].
          (* n^{0.11} <= 2^{0.11} (1 + 0.11 (n/2 - 1)) by Bernoulli for 1/0.11 *)
          assert (T : Rpower 2 (11 / 100) <= 11 / 10).
          { assert (B := root_bound 2 100 11 (11 / 10) ltac:(lia) ltac:(lra) ltac:(lra)).
            replace (2 : R) with (2 / 1) in B by field.
            specialize (B ltac:(apply pow_fraction_le; vm_compute; reflexivity)).
            rewrite !INR_IZR_INZ in B. simpl IZR in B.
            assert (Pw := Rle_Rpower_l (2 / 1) (Rpower (11 / 10) (100 / 11)) (11 / 100) ltac:(lra) ltac:(lra)).
            rewrite Rpower_mult in Pw. replace (100 / 11 * (11 / 100)) with 1 in Pw by field.
            rewrite Rpower_1 in Pw by lra. replace (2 / 1) with 2 in Pw by field. exact Pw. }
          assert (C : Rpower (N / 2) (11 / 100) <= 1 + 11 / 100 * (N / 2 - 1)).
          { unfold Rpower. assert (Hn2 : 0 < N / 2) by lra.
            set (y := 1 + 11 / 100 * (N / 2 - 1)). assert (Hy : 0 < y) by (unfold y; lra).
            assert (B := bernoulli y (100 / 11) Hy ltac:(lra)).
            replace (1 + 100 / 11 * (y - 1)) with (N / 2) in B by (unfold y; field).
            assert (Lb : ln (N / 2) <= 100 / 11 * ln y).
            { rewrite <- (ln_exp (100 / 11 * ln y)). destruct B as [B|B];
                [left; apply ln_increasing; assumption | rewrite B; unfold Rpower; lra]. }
            rewrite <- (exp_ln y Hy). apply exp_le. lra. }
          replace N with (2 * (N / 2)) at 1 by field. rewrite <- Rpower_mult_distr by lra.
          assert (P := Rpower_pos 2 (11 / 100)). assert (P' := Rpower_pos (N / 2) (11 / 100)). nra. }
      assert (0 <= seen N k).
      { left. unfold seen. assert (P := Rpower_pos N (- k)). apply Rdiv_lt_0_compat; nra. }
      nra. }
    split; [|split].
    + rewrite p_seen. apply G. nra.
    + change (q N a) with (seen N a). apply G. lra.
    + unfold p_lin. apply Rmult_le_reg_r with (N + a); [lra|].
      replace (a * ((1 + a) / (N + a)) * (N + a)) with (a * (1 + a)) by (field; lra). nra.
  - intros n a Hn Ha. apply (le_INR 2) in Hn. simpl INR in Hn at 1. apply p_lin_weak; assumption.
  - intros n a Hn Ha. apply le_INR in Hn. rewrite INR_IZR_INZ in Hn at 1. simpl in Hn. nra.
Qed.

(** [scaling-margin-linear] *)
Theorem scaling_margin_linear (n : nat) a0 a1 : (2 <= n)%nat -> 0 <= a0 < a1 ->
  let N := INR n in
  p_lin N a1 - p_lin N a0 = (a1 - a0) * (N - 1) / ((N + a1) * (N + a0)) /\
  (a1 - a0) * (N - 1) / ((N + a1) * (N + a0)) < (a1 - a0) / N.
Proof.
  intros Hn Ha N. apply (le_INR 2) in Hn. simpl INR in Hn at 1. fold N in Hn. split.
  - unfold p_lin. field. lra.
  - assert (P : 0 < (N + a1) * (N + a0)) by (apply Rmult_lt_0_compat; lra).
    apply Rmult_lt_reg_r with (N * ((N + a1) * (N + a0))); [apply Rmult_lt_0_compat; lra|].
    replace ((a1 - a0) * (N - 1) / ((N + a1) * (N + a0)) * (N * ((N + a1) * (N + a0))))
      with ((a1 - a0) * ((N - 1) * N)) by (field; lra).
    replace ((a1 - a0) / N * (N * ((N + a1) * (N + a0)))) with ((a1 - a0) * ((N + a1) * (N + a0))) by (field; lra).
    apply Rmult_lt_compat_l; nra.
Qed.
