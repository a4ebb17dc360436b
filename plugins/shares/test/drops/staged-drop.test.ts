import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FileRoom } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { StagedDrops } from '../../src/drops/staged-drop.ts'

const room: FileRoom = {
  bytes: 0,
  extend: async () => {},
  reduce() {},
  release() {},
  [Symbol.dispose]() {},
}

t.test('a sweep removes what nobody uploads, and nothing of an upload that runs', async (t) => {
  const folder = t.testdir()
  const drops = new StagedDrops(folder)
  writeFileSync(join(folder, 'aa'), 'of a node that ended at once')
  const running = drops.open('bb', room)
  async function* content() {
    yield Buffer.from('half ')
    await drops.sweep()
    yield Buffer.from('whole')
  }
  await running.receive(content())
  t.strictSame(readdirSync(folder), ['bb'])
  const bytes: Uint8Array[] = []
  for await (const chunk of running.content()) bytes.push(chunk)
  t.equal(Buffer.concat(bytes).toString(), 'half whole')
  await running.remove()
  t.strictSame(readdirSync(folder), [])
})
