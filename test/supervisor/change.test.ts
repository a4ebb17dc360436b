import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, readlinkSync, renameSync, rmSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { json } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import tap, { test } from 'tap'
import { pollDuring } from './polling-client.ts'
import { supervisedNode } from './supervised-node.ts'

// The tests mostly wait for nodes that start.
tap.jobs = 3

test('a change of the release waits for uploads, refuses no connection, and the way back keeps what was written', async (t) => {
  const node = await supervisedNode(t)
  t.match(await (await node.ask({ action: 'look' })).json(), { rollback: null, history: [] })
  await node.post('/rows', { text: 'before' })

  // An upload that outlasts the wait is refused with an answer.
  const headers = { 'content-type': 'application/json', 'content-length': 1000, expect: '100-continue' }
  const upload = request(new URL('/rows', node.url), { method: 'POST', agent: false, headers })
  const answered = once(upload, 'response')
  upload.flushHeaders()
  await once(upload, 'continue')
  upload.write('{')
  const { failures, longestMs } = await pollDuring(new URL('/version', node.url), async () => {
    t.equal((await node.change('2.0.0', 'fine', { waitMs: 500 })).status, 200)
    const [answer] = (await answered) as [IncomingMessage]
    t.equal(answer.statusCode, 503)
    t.match(await json(answer), { error: true, code: 'SERVICE_UNAVAILABLE' })
    await node.attempt(1)
  })
  t.strictSame(failures, [])
  t.comment(`longest answer: ${Math.round(longestMs)} ms`)

  t.equal(await node.version(), '2.0.0')
  t.match(await node.history(), [{ from: '1.0.0', to: '2.0.0', result: 'installed', reason: null }])
  t.equal(readlinkSync(join(node.releases, 'current')), '2.0.0')
  t.match(await (await node.ask({ action: 'look' })).json(), { rollback: { version: '1.0.0' } })
  t.strictSame(await node.get('/rows'), ['start of 1.0.0', 'before', 'start of 2.0.0'])

  await node.post('/rows', { text: 'after' })
  t.equal((await node.ask({ action: 'back' })).status, 200)
  t.match(await node.attempt(2), {
    from: '2.0.0',
    to: '1.0.0',
    result: 'went back',
    reason: 'A test asks for it.',
  })
  await node.runs('1.0.0')
  t.ok((await node.get<string[]>('/rows')).includes('after'))
  t.equal((await node.ask({ action: 'back' })).status, 409)
  t.match(
    node.supervisor.output,
    'Version 1.0.0 runs again, with all data. Version 2.0.0 was left: A test asks for it.',
  )
  t.strictSame(await node.supervisor.end('SIGTERM'), [0, null])
})

test('versions that do not work are left, one after the other', async (t) => {
  const node = await supervisedNode(t)
  await node.post('/rows', { text: 'before' })
  const rows = await node.get<string[]>('/rows')
  const check = async (...added: string[]) => {
    await node.runs('1.0.0')
    rows.push(...added)
    t.match(await node.get('/rows'), rows)
  }

  await t.test(
    'one that fails on trial never reaches clients, and leaves no trace in the data',
    async (t) => {
      for (const [version, behavior, reason] of [
        [
          '2.0.0',
          'fails',
          /^The node cannot start.*: "switchable" .*the new version is broken at https:\/\/\[secret\]@[^\n]*$/,
        ],
        ['2.0.1', 'unhealthy', /the check "switchable" says unhealthy/],
      ] as const) {
        const { length } = await node.history()
        t.equal((await node.change(version, behavior)).status, 200)
        t.match(await node.attempt(length + 1), { to: version, result: 'failed', reason })
        await check('start of 1.0.0')
        t.equal((await node.get<string[]>('/rows')).length, rows.length)
        t.notOk(existsSync(join(node.releases, `before-${version}`)))
      }
    },
  )

  await t.test('one that dies right after its admission is left at once', async (t) => {
    t.equal((await node.change('2.0.2', 'dies')).status, 200)
    const reason = 'It was ended by SIGKILL.'
    t.match(await node.attempt(3), { from: '2.0.2', to: '1.0.0', result: 'went back', reason })
    await check('start of 2.0.2', 'start of 1.0.0')
  })

  await t.test(
    'one that leaves a process behind is left with it, so every connection is answered',
    { skip: process.platform !== 'linux' && 'Only Linux tells the environment of processes.' },
    async (t) => {
      t.equal((await node.change('2.0.3', 'leaves-process')).status, 200)
      t.match(await node.attempt(4), { from: '2.0.3', to: '1.0.0', result: 'went back' })
      await check('start of 2.0.3', 'start of 1.0.0')
      for (let i = 0; i < 50; i++) t.equal(await node.version(), '1.0.0')
      const pid = readFileSync(join(node.data, 'left'), 'utf8')
      // The system may keep the number of a process that has ended.
      t.notMatch(
        existsSync(`/proc/${pid}/cmdline`) ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') : '',
        'createServer',
      )
      await node.supervisor.printed('The node has left 1 of its processes behind. They were killed.')
    },
  )

  await t.test('one that ends after clients reached it is left, with all that was written', async (t) => {
    t.equal((await node.change('2.0.4', 'ends')).status, 200)
    const reason = 'It died 3 times within 10 minutes. It ended with the code 0.'
    t.match(await node.attempt(6), { from: '2.0.4', to: '1.0.0', result: 'went back', reason })
    await check('start of 2.0.4')
  })
})

test('a plugin closes the way back only if a person says so', async (t) => {
  const node = await supervisedNode(t)
  const state = new DatabaseSync(join(node.data, 'state.sqlite'), { timeout: 5000 })
  const due =
    "INSERT INTO users (uuid, username, wallet, created_at, disabled_at, deletion_due) VALUES ('ada', 'ada', '0x1', 0, 1, 1)"
  state.exec(due)
  state.close()
  await node.change('2.0.0', 'contracts')
  const reason =
    /^Version 2\.0\.0 changes data .* version 1\.0\.0 cannot use \("1-short" of "switchable"\).*supervise --again --without-way-back/
  t.match(await node.attempt(1), { to: '2.0.0', result: 'failed', reason })
  await node.runs('1.0.0')
  const erased = join(node.data, 'erased')
  // The file is there before its content.
  while (!existsSync(erased) || readFileSync(erased, 'utf8') === '') await delay(20)
  t.equal(readFileSync(erased, 'utf8'), 'ada by 1.0.0\n', 'a user whose deletion was due outlasts the trial')
  await node.change('2.0.1', 'contracts', { withoutRollback: true })
  t.match(await node.attempt(2), { to: '2.0.1', result: 'installed' })
  t.match(await (await node.ask({ action: 'look' })).json(), { rollback: null })
  await node.change('3.0.0')
  t.match(await node.attempt(3), { to: '3.0.0', result: 'installed' })
  // A third release removes the first one, and the one that was never in use.
  const kept = () => readdirSync(node.releases).filter((name) => /^\d/.test(name))
  while (kept().length > 2) await delay(20)
  t.same(kept().sort(), ['2.0.1', '3.0.0'])
  const copies = () => readdirSync(node.releases).filter((name) => name.startsWith('before-'))
  while (copies().length > 1) await delay(20)
  t.same(copies(), ['before-3.0.0'], 'so do its copies of databases')
})

test('a version that damages the data leaves copies from before it, which are named', async (t) => {
  const node = await supervisedNode(t)
  await node.post('/rows', { text: 'before' })
  t.equal((await node.change('2.0.0', 'damages')).status, 200)
  t.strictSame(await node.supervisor.ended(), [1, null])
  const copies = join(node.releases, 'before-2.0.0')
  t.match(await node.history(), [{ result: 'installed' }, { to: '1.0.0', result: 'went back' }])
  t.match(
    node.supervisor.output,
    new RegExp(`If data of the node is damaged: ${copies} has copies .* right before version 2\\.0\\.0`),
  )
  for (const suffix of ['', '-wal', '-shm']) rmSync(join(node.data, `state.sqlite${suffix}`), { force: true })
  for (const name of readdirSync(copies).filter((name) => name.startsWith('state.sqlite')))
    renameSync(join(copies, name), join(node.data, name))
  node.start()
  await node.runs('1.0.0')
  t.ok((await node.get<string[]>('/rows')).includes('start of 2.0.0'), 'only the damaged file was replaced')
})

test('a version that does not answer is killed, which counts as a death', async (t) => {
  const node = await supervisedNode(t, { answerSeconds: 3 })
  t.equal((await node.change('2.0.0', 'hangs')).status, 200)
  await node.supervisor.printed('The node died: It did not answer any more and was killed.')
  await node.supervisor.end('SIGTERM')
})
