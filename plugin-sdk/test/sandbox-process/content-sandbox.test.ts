import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { ContentSource } from '@nodekeep/plugin-sdk'
import { ContentFailure, isContentFailure } from '@nodekeep/plugin-sdk/sandbox-process'
import { test } from 'tap'
import { contentOf, startContentSandbox } from './fixtures/content-stand.ts'
import { children, runs, untilBusy, untilGone } from './fixtures/processes.ts'

const mebibyte = 2 ** 20
const program = (name: string) => new URL(`fixtures/${name}-program.ts`, import.meta.url)
const onLinux = process.platform === 'linux' ? false : 'Only Linux tells the memory of a process.'

/** A content of which some bytes never come. */
function endlessContent(): ContentSource {
  const bytes = (async function* () {
    yield* [Buffer.from('abc'), Buffer.from('def')]
    await new Promise(() => {})
  })()
  return { size: 9, bytes }
}

/** A content that ends a while after its last byte, as one of a file does. */
async function* lateEnd(text: string): AsyncGenerator<Uint8Array, void, undefined> {
  yield Buffer.from(text)
  await delay(50)
}

test('A content gets an answer with its parts, whatever its chunks are', async (t) => {
  const { sandbox, run } = startContentSandbox(t)
  t.equal(await run('text', null, contentOf('a', '', 'bc', 'd')), 'abcd')
  t.equal(await run('text', null, contentOf()), '')
  const large = Buffer.alloc(20 * mebibyte, 'x')
  t.equal(await run('length', null, contentOf(large.subarray(1), 'y')), large.length)
  t.equal(await run('text', null, { size: 3, bytes: lateEnd('abc') }), 'abc')
  t.equal(await run('text', null, reusing('abc', 'def', 'ghi', 'jkl')), 'abcdefghijkl')
  const { answer, parts } = await sandbox.run({ action: 'parts' }, contentOf('abc'))
  t.equal(answer, null)
  t.strictSame(
    parts.map((part) => Buffer.from(part).toString()),
    ['cba', '', 'abc'],
  )
})

test('A refusal is told in a sentence without control characters, and the process goes on', async (t) => {
  const { run, warnings } = startContentSandbox(t)
  const pid = await run('pid')
  const refused = { name: 'ContentFailure', code: 'UNPROCESSABLE', reason: 'refused', permanent: true }
  await t.rejects(run('refuse', 'The page is torn.'), { ...refused, message: 'The page is torn.' })
  const escapes = ' It\u0000 is\u001b[31m\u202e red\n\u2028and\u009b long.'
  await t.rejects(run('refuse', escapes), { ...refused, message: 'It is [31m red and long.' })
  await t.rejects(run('refuse', 'é'.repeat(1000)), { message: 'é'.repeat(200) })
  const general = { ...refused, message: 'The content cannot be decoded.' }
  await t.rejects(run('refuse', '\u0007'), general)
  await t.rejects(run('throw'), { ...general, cause: { message: /TypeError: This is for the author/ } })
  t.equal(await run('pid'), pid)
  t.strictSame(warnings, [])
})

test('A content that reaches a limit or ends the process fails, and the next one gets another process', async (t) => {
  const { run, warnings } = startContentSandbox(t, { timeoutMs: 1000, memoryBytes: 300 * mebibyte })
  const pids = new Set([await run('pid')])
  const failures: Record<string, string> = {
    loop: 'time',
    wait: 'time',
    exit: 'ended',
    crash: 'ended',
    stray: 'ended',
  }
  for (const [action, reason] of Object.entries(failures)) {
    const failure = await run(action).catch((error: unknown) => error)
    t.ok(isContentFailure(failure) && failure instanceof ContentFailure, action)
    t.match(failure, { reason, code: 'UNPROCESSABLE', permanent: true }, action)
    pids.add(await run('pid'))
  }
  t.equal(pids.size, 6, 'each time another process')
  t.equal(warnings.length, 3, 'only an end that nobody wanted is in the log')
})

test('A content that fills the heap fails, and so does one that takes memory outside of it', async (t) => {
  const { run } = startContentSandbox(t, { memoryBytes: 300 * mebibyte })
  await t.rejects(run('fill'), {
    reason: 'memory',
    message: 'Decoding the content needs more than 300 MiB of memory.',
  })
  t.equal(await run('text'), 'abc')
})

test('The memory of the whole process is bounded', { skip: onLinux }, async (t) => {
  const { run } = startContentSandbox(t, { memoryBytes: 300 * mebibyte })
  await t.rejects(run('allocate'), { code: 'UNPROCESSABLE', reason: 'memory' })
  const pid = await run('pid')
  t.equal(await run('litter', 200 * mebibyte), pid)
  t.equal(await run('litter', 200 * mebibyte), pid, 'garbage is returned before it counts')
  await run('keep', 150 * mebibyte)
  t.not(await run('pid'), pid, 'a process that keeps much is replaced')
})

test('A process that something kills is replaced, and the content is at fault only if it had begun', async (t) => {
  const { run, warnings } = startContentSandbox(t)
  const pid = Number(await run('pid'))
  process.kill(pid, 'SIGKILL')
  // A content that comes before the node has noticed goes to this process, and fails.
  while (warnings.length === 0) await delay(5)
  const other = Number(await run('pid'))
  t.not(other, pid, 'a process that ended while it was idle')
  const held = heldContent('abc', 'def')
  const failed = t.rejects(run('text', null, held.content), { code: 'SERVICE_UNAVAILABLE' })
  await held.reached
  process.kill(other, 'SIGKILL')
  await failed
  held.release()
  const third = Number(await run('pid'))
  const loop = t.rejects(run('loop'), { code: 'UNPROCESSABLE', reason: 'ended' })
  await untilBusy(third)
  process.kill(third, 'SIGKILL')
  await loop
  t.equal(await run('text'), 'abc')
})

test('A content of another size than it says fails, and so does one that throws', async (t) => {
  const { run } = startContentSandbox(t)
  const pid = await run('pid')
  for (const size of [2, 4]) {
    await t.rejects(run('text', null, { ...contentOf('ab', 'c'), size }), { code: 'CONFLICT' })
  }
  await t.rejects(run('text', null, throwing('abc')), { message: 'The storage is gone.' })
  const next = await run('pid')
  t.not(next, pid)
  await t.rejects(run('text', null, throwing()), { message: 'The storage is gone.' })
  t.equal(await run('pid'), next, 'a content that cannot be opened costs no process')
  for (const size of [-1, Number.NaN, 2 ** 32]) {
    await t.rejects(run('text', null, { ...contentOf('abc'), size }), RangeError)
  }
})

test('Contents wait for one another in their order, and the first ones go before the others', async (t) => {
  const { run } = startContentSandbox(t)
  const held = heldContent('a', 'b')
  const order: string[] = []
  const wait = async (name: string, first: boolean) => {
    await run('text', null, contentOf(name), { first })
    order.push(name)
  }
  const running = run('text', null, held.content)
  await held.reached
  const waiting = [wait('1', false), wait('2', false), wait('first 1', true), wait('first 2', true)]
  held.release()
  t.equal(await running, 'ab')
  await Promise.all(waiting)
  t.strictSame(order, ['first 1', 'first 2', '1', '2'])
})

test('An abort ends the wait, and the decoding with its process', async (t) => {
  const { run } = startContentSandbox(t)
  const pid = Number(await run('pid'))
  const [waits, runs] = [new AbortController(), new AbortController()]
  const held = heldContent('a', 'b')
  const running = run('text', null, held.content, { signal: runs.signal })
  await held.reached
  const untouched = neverRead()
  const waiting = run('text', null, untouched, { signal: waits.signal })
  waits.abort(new Error('nobody waits'))
  await t.rejects(waiting, { message: 'nobody waits' })
  runs.abort(new Error('nobody looks'))
  await t.rejects(running, { message: 'nobody looks' })
  held.release()
  const looper = Number(await run('pid'))
  t.not(looper, pid)
  const looping = new AbortController()
  const loop = run('loop', null, contentOf('abc'), { signal: looping.signal })
  await untilBusy(looper)
  looping.abort(new Error('it loops'))
  await t.rejects(loop, { message: 'it loops' })
  await untilGone(looper)
  await t.rejects(run('text', null, neverRead(), { signal: AbortSignal.abort(new Error('before')) }), {
    message: 'before',
  })
  t.equal(await run('text'), 'abc')
})

test('Messages that make no sense end the process', async (t) => {
  const misdeeds = {
    SERVICE_UNAVAILABLE: ['garbage', 'no-json', 'no-object', 'unknown', 'ready-twice', 'early', 'not-begun'],
    UNPROCESSABLE: ['began-twice', 'no-parts', 'long-part', 'negative-part', 'no-number', 'endless'],
  }
  const { sandbox, warnings } = startContentSandbox(t, { main: program('hostile') })
  for (const [code, names] of Object.entries(misdeeds)) {
    for (const name of names) {
      const content = name === 'early' ? endlessContent() : contentOf('abc', 'x'.repeat(mebibyte))
      await t.rejects(sandbox.run(name, content), { code }, name)
    }
  }
  t.equal(warnings.length, 13)
  await t.rejects(sandbox.run('odd-refusal', contentOf('abc')), {
    reason: 'refused',
    message: 'The content cannot be decoded.',
  })
})

test('A second answer is never that of the next content', async (t) => {
  const { sandbox, warnings } = startContentSandbox(t, { main: program('hostile') })
  t.match(await sandbox.run('two-answers', contentOf('abc')), { answer: 1 })
  await t.rejects(sandbox.run('odd-refusal', contentOf('abc')), { code: 'UNPROCESSABLE', reason: 'refused' })
  t.equal(warnings.length, 1)
})

test('An answer that is too large fails', async (t) => {
  const { sandbox, run } = startContentSandbox(t, { largestAnswer: mebibyte })
  const { parts } = await sandbox.run({ action: 'large', value: mebibyte }, contentOf(''))
  t.equal(parts[0]?.length, mebibyte)
  await t.rejects(run('large', 2 * mebibyte), { code: 'UNPROCESSABLE', reason: 'ended' })
  t.equal(await run('text'), 'abc')
})

test('A program that does not start or does not read is no fault of the content', async (t) => {
  const failing = startContentSandbox(t, { main: program('failing') })
  for (let round = 0; round < 2; round += 1) {
    await t.rejects(failing.run('text', null, neverRead()), {
      code: 'SERVICE_UNAVAILABLE',
      cause: { message: /This program does not start/ },
    })
  }
  const unreading = startContentSandbox(t, { main: program('unreading'), timeoutMs: 500 })
  await t.rejects(unreading.run('text', null, contentOf(Buffer.alloc(4 * mebibyte))), {
    code: 'SERVICE_UNAVAILABLE',
  })
})

test('An idle process ends, and the next content starts another one', async (t) => {
  const { run, warnings } = startContentSandbox(t, { idleMs: 50 })
  const pid = Number(await run('pid'))
  await untilGone(pid)
  t.not(await run('pid'), pid)
  t.strictSame(warnings, [])
})

test('A stop fails the contents that have no answer, and leaves no process', async (t) => {
  const { sandbox, run, warnings } = startContentSandbox(t)
  const pid = Number(await run('pid'))
  const stopping = { code: 'SERVICE_UNAVAILABLE', message: 'The node is stopping.' }
  const running = t.rejects(run('wait'), stopping)
  const waiting = [t.rejects(run('text', null, neverRead()), stopping)]
  await Promise.all([sandbox.stop(), sandbox.stop()])
  await Promise.all([running, ...waiting])
  t.equal(runs(pid), false)
  await t.rejects(run('text', null, neverRead()), stopping)
  t.strictSame(warnings, [])
})

test('A stop while the process starts leaves no process', async (t) => {
  const { sandbox, run } = startContentSandbox(t)
  const failed = t.rejects(run('text'), { code: 'SERVICE_UNAVAILABLE' })
  await sandbox.stop()
  await failed
  t.strictSame(children(), [])
})

test('Nothing outside of the process can be read, written, started or connected to', async (t) => {
  process.env.NODEKEEP_SECRET = 'secret'
  t.teardown(() => delete process.env.NODEKEEP_SECRET)
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { run } = startContentSandbox(t)
  const denied = 'ERR_ACCESS_DENIED'
  t.strictSame(await run('reach', (server.address() as AddressInfo).port), {
    read: denied,
    list: denied,
    memory: denied,
    write: denied,
    writeOwn: denied,
    spawn: denied,
    thread: denied,
    connect: denied,
    environment: [],
  })
})

const onPosix = process.platform === 'win32' ? 'Windows ends the processes of a job.' : false
test('No process outlives a node that is killed, even if a decoder loops', { skip: onPosix }, async (t) => {
  const file = fileURLToPath(new URL('fixtures/killed-content-node.ts', import.meta.url))
  const node = spawn(process.execPath, ['--conditions=nodekeep-source', file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => node.kill('SIGKILL'))
  const [line] = await once(node.stdout, 'data')
  const pid = Number(line)
  await untilBusy(pid)
  node.kill('SIGKILL')
  await untilGone(pid)
})

/** A content that waits before its second chunk until it is released. */
function heldContent(first: string, second: string) {
  const reached = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  async function* bytes() {
    yield Buffer.from(first)
    reached.resolve()
    await released.promise
    yield Buffer.from(second)
  }
  const content: ContentSource = { size: first.length + second.length, bytes: bytes() }
  return { content, reached: reached.promise, release: released.resolve }
}

/** A content in two buffers, of which each is used again when the chunk after the next one is requested. */
function reusing(...chunks: readonly string[]): ContentSource {
  const buffers = [Buffer.alloc(3), Buffer.alloc(3)]
  async function* bytes() {
    for (const [index, chunk] of chunks.entries()) {
      const buffer = buffers[index % 2] ?? Buffer.alloc(0)
      buffer.write(chunk)
      yield buffer
    }
  }
  return { size: 3 * chunks.length, bytes: bytes() }
}

function throwing(...chunks: readonly string[]): ContentSource {
  async function* bytes() {
    for (const chunk of chunks) yield Buffer.from(chunk)
    throw new Error('The storage is gone.')
  }
  return { size: 100, bytes: bytes() }
}

function neverRead(): ContentSource {
  async function* bytes(): AsyncGenerator<Uint8Array> {
    yield* []
    throw new Error('This content should not be read.')
  }
  return { size: 3, bytes: bytes() }
}
