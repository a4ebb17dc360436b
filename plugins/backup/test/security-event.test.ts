import { test } from 'tap'
import { createBackupNode, makeBackup } from './fixtures/backup-node.ts'

test('the log tells who takes backups away and plans restores, and from where', async (t) => {
  const lines: string[] = []
  const node = await createBackupNode({ onLog: (line) => lines.push(line) })
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  const { filename } = await makeBackup(owner)
  const ask = async (method: string, path: string, body?: object) => {
    const json = body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
    const answer = await owner.fetch(`/api/backup/${path}`, { method, ...json })
    t.equal(answer.status, 200, `${method} ${path}`)
    await answer.arrayBuffer()
  }
  await ask('HEAD', `download/${filename}`)
  await ask('GET', `download/${filename}`)
  await ask('POST', 'restore', { filename, confirm: false })
  await ask('POST', 'restore', { filename, confirm: true })
  await ask('DELETE', 'restore')
  await ask('DELETE', filename)
  const lent = await owner.fetch('/api/backup/moment', { method: 'POST' })
  await lent.body?.getReader().read()
  await ask('DELETE', 'moment')

  const { username: user, uuid: userUuid } = owner.user
  const events = lines.map((line) => JSON.parse(line)).filter(({ event }) => event !== undefined)
  const by = { plugin: 'backup', ip: '127.0.0.1', user, userUuid }
  t.match(events, [
    { event: 'backup-downloaded', filename, ...by },
    { event: 'restore-planned', filename, ...by },
    { event: 'restore-canceled', filename, ...by },
    { event: 'backup-deleted', filename, ...by },
    { event: 'backup-lent', ...by },
  ])
  t.equal(events.length, 5)
})
