import { loginConformance } from '@nodekeep/plugin-sdk/conformance/login'
import { test } from 'tap'
import { startLoginSubject } from './fixtures/login-subject.ts'
import { Wallet } from './fixtures/wallet.ts'

loginConformance(test, {
  boundToOrigin: true,
  setUp: () => startLoginSubject(Wallet.createRandom()),
})
