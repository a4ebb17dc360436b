import { readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { createSyncNode } from '../fixtures/sync-node.ts'
import { syncFolder, temporaryFolder } from './fixtures/synced-folders.ts'

const node = await createSyncNode()
t.teardown(() => node.stop())

const daySeconds = 86_400

t.test('the later change wins, whatever the clock of its device says', async (t) => {
  const user = await node.signIn()
  const [one, two] = [await temporaryFolder(t), await temporaryFolder(t)]
  const first = await syncFolder(t, node, user, { folder: one, deviceName: 'one' })
  const second = await syncFolder(t, node, user, { folder: two, deviceName: 'two' })
  const now = Date.now() / 1000
  // A device whose clock is wrong gives its files such times.
  for (const [from, to, days] of [
    [one, two, 0],
    [two, one, -9],
    [one, two, 9],
    [two, one, -400],
  ] as const) {
    const [file, copy] = [join(from, 'a'), join(to, 'a')]
    const text = `${days} days`
    await writeFile(file, text)
    await utimes(file, now + days * daySeconds, now + days * daySeconds)
    while ((await readFile(copy, 'utf8').catch(() => '')) !== text) {
      await Promise.race([first.ended, second.ended, new Promise((resolve) => setTimeout(resolve, 50))])
    }
    for (const sync of [first, second]) await sync.idle()
    t.equal(await readFile(file, 'utf8'), text)
  }
  for (const folder of [one, two]) {
    t.same((await readdir(folder)).sort(), ['.nodekeep-sync', 'a'], 'there is no conflict')
  }
})
