import { readdir } from 'node:fs/promises'
import t from 'tap'
import { fileOf, reset, say, startHostileNode, welcome } from './fixtures/hostile-node.ts'
import { syncFolder, temporaryFolder } from './fixtures/synced-folders.ts'

t.test('changes are acknowledged only as long as the client keeps up with them', async (t) => {
  const node = await startHostileNode(t)
  node.on('/stat', () => {})
  let cursor = 0
  node.onHello((socket) => {
    const next = () => {
      cursor += 1
      const at = '2026-11-23T14:05:12.000Z'
      const changes = Array.from({ length: 1000 }, (_, n) => ({ op: 'write', path: `/${cursor}/${n}`, at }))
      say(socket, { type: 'changes', cursor, head: 1_000_000, changes })
    }
    socket.on('message', (data) => String(data).includes('ack') && next())
    say(socket, welcome, reset)
    next()
  })
  const sync = await syncFolder(t, node, { token: 'token' }, { folder: await temporaryFolder(t) })
  while (sync.status().open < 10_000) await sync.changed()
  t.equal(node.messages.filter(({ type }) => type === 'ack').length, 9)
  await sync.stop()
  t.pass('the client stops, although the node still owes answers')
})

t.test('a file that is larger than the disk is not even begun', async (t) => {
  const node = await startHostileNode(t)
  node.on('/api/files/list', { entries: [fileOf('huge', { size: Number.MAX_SAFE_INTEGER })], cursor: null })
  const folder = await temporaryFolder(t)
  const sync = await syncFolder(t, node, { token: 'token' }, { folder })
  while (sync.status().trouble === null) await sync.changed()
  t.match(sync.status().trouble, /The disk is full/)
  t.same(await readdir(folder), ['.nodekeep-sync'])
  t.notOk(node.requests.some((path) => path.startsWith('/read')))
})
