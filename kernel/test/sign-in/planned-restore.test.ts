import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { expectError } from '../fixtures/expect-error.ts'
import { startLoginNode, wallet } from '../fixtures/login-node.ts'

test('nobody claims a node whose next start restores a backup', async (t) => {
  const { node, signIn, openSession } = await startLoginNode(t, { unclaimed: true })
  const claim = node.claimCode() ?? ''
  const folder = join(node.dataFolder, 'restore')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'plan.json'), '{}')
  await expectError(t, await signIn(wallet(1), { claim }), 409, 'CONFLICT')
  t.equal(await node.accounts.owner(), null)
  rmSync(join(folder, 'plan.json'))
  await openSession(wallet(1), { claim })
})
