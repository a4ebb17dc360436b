import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { TestUser } from '@nodekeep/kernel/testing'
import { test } from 'tap'
import { createShakyStorage } from '../../fixtures/shaky-storage.ts'
import { begin, connect } from '../../fixtures/sync-client.ts'
import { createSyncNode, put, send } from '../../fixtures/sync-node.ts'
import { beginUpload, contentOf, upload } from '../../fixtures/uploader.ts'

/** Resolves when the node has these bytes, wherever they are in the files of the user. */
async function known(user: TestUser, bytes: Uint8Array): Promise<void> {
  for (;;) {
    const { body } = await beginUpload(user, '/asked', contentOf(bytes))
    if (body.missing.length === 0) return
    await delay(100)
  }
}

for (const listsRevisions of [true, false]) {
  test(`the files of a user with a device are hashed, those from before and those that change, listings ${listsRevisions ? 'with' : 'without'} revisions`, async (t) => {
    const storage = createShakyStorage({ listsRevisions })
    const node = await createSyncNode({
      plugins: [storage.plugin],
      config: { plugins: { 'storage-memory': true }, storage: { mounts: { '/': 'shaky' } } },
    })
    t.teardown(() => node.stop())
    const ada = await node.signIn()
    const [before, after, moved] = [randomBytes(70_000), randomBytes(3_000_000), randomBytes(1000)]
    await put(ada, '/folder/before', before)
    await begin(await connect(t, node, ada))
    await known(ada, before)
    await put(ada, '/after', after)
    await put(ada, '/folder/moved', moved)
    await known(ada, after)
    await send(ada, 'POST', '/move', { source: '/folder', destination: '/other' })
    await known(ada, moved)
    t.match(await upload(ada, '/copy', before), { status: 200, sent: 0 })
  })
}

test('a large file that changed a little is sent in part, even if it was never hashed', async (t) => {
  const node = await createSyncNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const bytes = randomBytes(8_000_000)
  const ifRevision = await put(ada, '/large', bytes)
  bytes[4_000_000] = (bytes[4_000_000] ?? 0) ^ 1
  const { status, sent } = await upload(ada, '/large', bytes, { ifRevision })
  t.equal(status, 200)
  t.ok(sent > 0 && sent < 2_500_000, `${sent} bytes`)
})
