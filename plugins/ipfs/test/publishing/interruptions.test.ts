import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import type { TestUser } from '@nodekeep/kernel/testing'
import t, { type Test } from 'tap'
import { endlessStorage } from '../fixtures/endless-storage.ts'
import { createIpfsNode, post, publications, publish, put, states, withdraw } from '../fixtures/ipfs-node.ts'
import { rowsOf } from '../fixtures/tables.ts'

const endless = {
  plugins: [endlessStorage],
  config: { storage: { mounts: { '/endless': 'endless' } }, server: { drainSeconds: 1 } },
}

async function startEndless(t: Test, ipfs: object = {}) {
  const dataFolder = t.testdir()
  const node = await createIpfsNode({
    config: { ...endless.config, ipfs },
    plugins: endless.plugins,
    dataFolder,
  })
  let isStopped = false
  const stop = async () => {
    if (!isStopped) await node.stop()
    isStopped = true
  }
  t.teardown(stop)
  return { ada: await node.signIn(), node, dataFolder, stop }
}

/** Waits until the list of a user says so. */
async function until(user: TestUser, isSo: (list: Awaited<ReturnType<typeof publications>>) => boolean) {
  for (;;) {
    const list = await publications(user)
    if (isSo(list)) return list
    await delay(5)
  }
}

const isInTheMiddle = ({ publications: [first] }: Awaited<ReturnType<typeof publications>>) =>
  (first?.addedBytes ?? 0) > 3 * 1024 * 1024

/** Asks to publish `/endless/a` while `/endless/b` is being added, and leaves. Then `a` has its turn. */
async function leaveBeforeItsTurn(user: TestUser) {
  const first = post(user, '/api/ipfs/publish', { path: '/endless/b' })
  const { publications: running } = await until(user, (list) => (list.publications[0]?.addedBytes ?? 0) > 0)
  const leave = new AbortController()
  const answer = post(user, '/api/ipfs/publish', { path: '/endless/a' }, { signal: leave.signal })
  await until(user, (list) => list.publications.length === 2)
  leave.abort()
  await answer.catch(() => {})
  await withdraw(user, running[0]?.id ?? '')
  await first
}

t.test('what a client has asked for is published though it leaves', async (t) => {
  const { ada } = await startEndless(t)
  await leaveBeforeItsTurn(ada)
  await until(ada, ({ publications: [first] }) => first?.state === 'published')
  t.same(await states(ada), { '/endless/a': 'published' })
})

t.test('a failure is in the list until it is withdrawn or tried again', async (t) => {
  const { ada, node } = await startEndless(t, { publishing: { maxBytes: '2MB' } })
  const bob = await node.signIn()
  await leaveBeforeItsTurn(ada)
  const { publications: failed } = await until(ada, ({ publications: [first] }) => first?.state === 'failed')
  t.match(failed, [{ path: '/endless/a', state: 'failed', cid: null, problem: /bytes/ }])
  t.same((await publications(bob)).publications, [])
  t.equal((await withdraw(bob, failed[0]?.id ?? '')).status, 404, 'nobody else takes it away')
  t.equal((await post(ada, '/api/ipfs/publish', { path: '/endless/a' })).status, 413)
  const { publications: again } = await publications(ada)
  t.equal(again.length, 1, 'the next try takes its place')
  const id = again[0]?.id ?? ''
  t.not(id, failed[0]?.id)
  t.equal((await withdraw(ada, id)).status, 200)
  t.same((await publications(ada)).publications, [])
})

t.test('nothing is left of what was withdrawn while it was added', async (t) => {
  const { ada, dataFolder, stop } = await startEndless(t)
  const answer = post(ada, '/api/ipfs/publish', { path: '/endless' })
  const list = await until(ada, isInTheMiddle)
  t.match(list, { publications: [{ path: '/endless', state: 'adding', cid: null, publishedAt: null }] })
  await withdraw(ada, list.publications[0]?.id ?? '')
  t.equal((await answer).status, 409)
  await stop()
  t.same(rowsOf(dataFolder, 'publications', 'publication'), [])
  t.same(rowsOf(dataFolder, 'publications', 'block'), [])
  t.same(rowsOf(dataFolder, 'not-in-backups/index', "root WHERE holder LIKE 'publication:%'"), [])
})

t.test('two calls for a path are one, and a withdrawal ends both', async (t) => {
  const { ada, node } = await startEndless(t)
  const bob = await node.signIn()
  const leave = new AbortController()
  const first = post(ada, '/api/ipfs/publish', { path: '/endless' }, { signal: leave.signal })
  await until(ada, isInTheMiddle)
  const second = post(ada, '/api/ipfs/publish', { path: '/endless' })
  const other = post(ada, '/api/ipfs/publish', { path: '/endless/a' })
  const { publications: adding } = await until(ada, (list) => list.publications.length === 2)
  const [{ id = '' } = {}] = adding
  leave.abort()
  await t.rejects(first)
  t.equal((await withdraw(bob, id)).status, 404, 'nobody else ends it')
  t.match(await states(ada), { '/endless': 'adding', '/endless/a': 'adding' }, 'one after the other')
  t.equal((await withdraw(ada, id)).status, 200)
  t.match(await (await second).json(), { code: 'CONFLICT', message: /withdrawn/ })
  t.equal((await other).status, 200, 'the next one has its turn')
  t.same(await states(ada), { '/endless/a': 'published' })
})

t.test('a node stops while something is published', async (t) => {
  const { ada, dataFolder, stop } = await startEndless(t)
  const answer = post(ada, '/api/ipfs/publish', { path: '/endless' })
  await until(ada, isInTheMiddle)
  const stopped = stop()
  t.match(await (await answer).json(), { code: 'SERVICE_UNAVAILABLE' })
  await stopped
  const node = await createIpfsNode({ ...endless, dataFolder })
  t.teardown(() => node.stop())
  await node.stop()
  t.same(rowsOf(dataFolder, 'publications', 'publication'), [])
})

t.test('nothing is left of what was published when the node was killed', async (t) => {
  const dataFolder = t.testdir()
  const before = await createIpfsNode({ dataFolder })
  const owner = await before.signIn('owner')
  await put(owner, '/kept', 'kept')
  const kept = await publish(owner, '/kept')
  await before.stop()
  const program = join(import.meta.dirname, '../fixtures/killed-publisher.ts')
  const child = spawn(process.execPath, [...process.execArgv, program, dataFolder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const [line] = await once(createInterface(child.stdout), 'line')
  t.equal(line, 'in the middle')
  child.kill('SIGKILL')
  await once(child, 'exit')
  t.ok(rowsOf(dataFolder, 'publications', 'publication WHERE published IS NULL').length > 0)
  const node = await createIpfsNode({ dataFolder })
  t.same(await states(await node.signIn('owner')), { '/kept': 'published' })
  t.equal(await (await node.fetch(`/ipfs/${kept.cid}`)).text(), 'kept')
  await node.stop()
  t.same(
    rowsOf(dataFolder, 'publications', 'publication').map(({ path }) => path),
    ['/kept'],
  )
  t.equal(rowsOf(dataFolder, 'publications', 'block').length, 1)
})

t.test(
  'a node without the blocks of its publications adds them again, if the files are the same',
  async (t) => {
    const dataFolder = t.testdir()
    const before = await createIpfsNode({ dataFolder })
    const owner = await before.signIn('owner')
    await put(owner, '/folder/same', 'same')
    await put(owner, '/other', 'other')
    const folder = await publish(owner, '/folder')
    const other = await publish(owner, '/other')
    await before.stop()
    // As a restore on another machine, whose folder `not-in-backups` is not there.
    for (const id of ['ipfs', 'files'])
      await rm(join(dataFolder, 'plugins', id, 'not-in-backups'), { recursive: true })
    const node = await createIpfsNode({ dataFolder })
    const again = await node.signIn('owner')
    await put(again, '/other', 'another one')
    await until(again, ({ publications }) => publications.some(({ state }) => state === 'published'))
    await node.stop()
    await rm(join(dataFolder, 'plugins/ipfs/not-in-backups'), { recursive: true })
    const last = await createIpfsNode({ dataFolder })
    t.teardown(() => last.stop())
    const user = await last.signIn('owner')
    await until(user, (list) => list.publications.some(({ state }) => state === 'published'))
    t.same(await states(user), { '/folder': 'published', '/other': 'missing' })
    t.equal(await (await last.fetch(`/ipfs/${folder.cid}/same`)).text(), 'same')
    t.equal((await last.fetch(`/ipfs/${other.cid}`)).status, 404)
    await put(user, '/other', 'other')
    t.equal((await publish(user, '/other')).id, other.id)
    t.match(await states(user), { '/other': 'published' })
  },
)

t.test('roots that no publication has are removed', async (t) => {
  const dataFolder = t.testdir()
  const file = join(dataFolder, 'plugins/ipfs/publications.sqlite')
  const start = async () => {
    const node = await createIpfsNode({ dataFolder })
    return { node, owner: await node.signIn('owner') }
  }
  const first = await start()
  await put(first.owner, '/a', 'a')
  await put(first.owner, '/b', 'b')
  await publish(first.owner, '/a')
  await first.node.stop()
  await copyFile(file, `${file}.old`)
  const second = await start()
  const { cid } = await publish(second.owner, '/b')
  await second.node.stop()
  await rename(`${file}.old`, file)
  const third = await start()
  t.same(await states(third.owner), { '/a': 'published' })
  t.equal((await third.node.fetch(`/ipfs/${cid}`)).status, 404)
  await third.node.stop()
  t.equal(rowsOf(dataFolder, 'not-in-backups/index', "root WHERE holder LIKE 'publication:%'").length, 1)
})
