import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestUser } from '@nodekeep/kernel/testing'
import t, { type Test, test } from 'tap'
import { RestoreFolders } from '../../src/restore/restore-folder.ts'
import { makeBackup, put } from '../fixtures/backup-node.ts'
import { houseFor, read, restore, restoresIn } from './fixtures/house.ts'

t.jobs = 3

async function cancel(owner: TestUser): Promise<readonly [status: number, body: Record<string, unknown>]> {
  const answer = await owner.fetch('/api/backup/restore', { method: 'DELETE' })
  return [answer.status, (await answer.json()) as Record<string, unknown>]
}

async function planned(owner: TestUser): Promise<unknown> {
  return ((await (await owner.fetch('/api/backup/status')).json()) as { planned: unknown }).planned
}

/** A node with a backup in which `/a` is "backup", and "present" now. */
async function houseWithBackup(t: Test) {
  const house = houseFor(t)
  const { owner } = await house.start()
  await put(owner, '/a', 'backup')
  const { filename } = await makeBackup(owner)
  await put(owner, '/a', 'present')
  const inStorage = join(house.data, 'files/.nodekeep/restore')
  const left = () => [...restoresIn(house.data), ...(existsSync(inStorage) ? readdirSync(inStorage) : [])]
  return { house, owner, filename, left }
}

test('a planned restore is taken back, and nothing of it is left', async (t) => {
  const { house, owner, filename, left } = await houseWithBackup(t)
  t.match(await cancel(owner), [404, { error: true, message: 'No restore is prepared or planned.' }])
  await restore(owner, { filename, confirm: false })
  t.equal(await planned(owner), null)
  t.strictSame(await cancel(owner), [200, { success: true, backup: filename }], 'only prepared')
  t.strictSame(left(), [])

  await restore(owner, { filename, confirm: true })
  t.match(await planned(owner), { backup: filename, moment: String })
  t.strictSame(await cancel(owner), [200, { success: true, backup: filename }])
  t.equal(await planned(owner), null)
  t.strictSame(left(), [])
  t.notOk(existsSync(join(house.data, 'restore/plan.json')))
  const { owner: again } = await house.start()
  t.equal(await read(again, '/a'), 'present')
})

test('a second restore takes the place of the planned one, and says so', async (t) => {
  const { owner, filename } = await houseWithBackup(t)
  const { filename: second } = await makeBackup(owner)
  t.match(await (await restore(owner, { filename, confirm: true })).json(), { replaces: null })
  t.match(await (await restore(owner, { filename: second, confirm: true })).json(), { replaces: filename })
  t.match(await planned(owner), { backup: second })
})

test('of two restores that begin at once, one is prepared, and the other one is told to wait', async (t) => {
  const { house, owner, filename } = await houseWithBackup(t)
  const answers = await Promise.all([1, 2, 3].map(() => restore(owner, { filename, confirm: true })))
  t.strictSame(answers.map(({ status }) => status).sort(), [200, 409, 409])
  const refused = answers.find(({ status }) => status === 409)
  t.match(await refused?.json(), { code: 'CONFLICT', message: /Another restore .* Let it end, or stop it/ })
  t.equal(restoresIn(house.data).length, 1)
})

test('while a command prepares a restore, the node refuses others, and its start leaves the restore alone', async (t) => {
  const { house, owner, filename } = await houseWithBackup(t)
  const folders = new RestoreFolders(house.data, {
    state: async () => ({ planned: null, applied: null }),
    folders: async () => [],
  })
  {
    using _lock = folders.lock()
    const folder = await folders.begin({ backup: 'other.tar.gz', moment: '2026-01-01T00:00:00.000Z' }, [])
    t.equal((await restore(owner, { filename, confirm: true })).status, 409)
    t.match(await cancel(owner), [409, {}])
    const { owner: again } = await house.start()
    // It waits until the start has finished what restores have left.
    t.equal((await restore(again, { filename, confirm: true })).status, 409)
    t.ok(existsSync(join(folder.path, 'restore.json')))
  }
  const { owner: later } = await house.start()
  t.equal((await restore(later, { filename, confirm: false })).status, 200)
  t.notOk(restoresIn(house.data).includes('other'))
})

test('a node that stops ends a restore that is being prepared, and says so', async (t) => {
  const { house, owner, left } = await houseWithBackup(t)
  await put(owner, '/large', randomBytes(10_000_000))
  const { filename } = await makeBackup(owner)
  const answer = restore(owner, { filename, confirm: true })
  while (restoresIn(house.data).length === 0) await new Promise(setImmediate)
  await house.stop()
  t.match(await (await answer).json(), { code: 'SERVICE_UNAVAILABLE', message: /The node stops/ })
  t.strictSame(left(), [])
})

test('a removal that was interrupted goes on', async (t) => {
  const { house, owner, filename } = await houseWithBackup(t)
  await restore(owner, { filename, confirm: false })
  const [name = ''] = restoresIn(house.data)
  const [folder, elsewhere] = [
    join(house.data, 'restore', name),
    join(house.data, 'files/.nodekeep/restore', name),
  ]
  // As a kill leaves it: without a record that calls the restore ready.

  renameSync(join(folder, 'restore.json'), join(folder, 'removed.json'))
  writeFileSync(join(elsewhere, 'new', 'rest'), '')
  const { owner: again } = await house.start()
  t.equal((await restore(again, { prepared: name, confirm: true })).status, 404)
  t.strictSame(restoresIn(house.data), [])
  t.notOk(existsSync(elsewhere))
  t.notOk(readdirSync(join(house.data, 'files/.nodekeep')).includes('restore'))
})
