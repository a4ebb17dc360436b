import { moduleBeside, runInThread } from '@nodekeep/plugin-sdk/threads'
import { test } from 'tap'
import type { Counting } from './fixtures/counting-thread.ts'

const module = moduleBeside(import.meta.url, 'fixtures/counting-thread')

function count(order: Counting, onMessage?: (count: number) => void, signal?: AbortSignal): Promise<string> {
  const options = { name: 'count', order, signal, ...(onMessage && { onMessage }) }
  return runInThread<Counting, number, string>(module, options)
}

test('a thread answers, after all that it sends before', async (t) => {
  const counts: number[] = []
  t.equal(await count({ to: 3, end: 'answer' }, (sent) => counts.push(sent)), 'counted to 3')
  t.strictSame(counts, [1, 2, 3])
})

test('an error of a thread arrives with its fields', async (t) => {
  const failure = { name: 'RangeError', message: 'too far', code: 'TOO_FAR', errno: -7 }
  await t.rejects(count({ to: 0, end: 'fail' }), failure)
})

test('a thread that ends without an answer is a failure', async (t) => {
  await t.rejects(count({ to: 0, end: 'exit' }), { message: 'The thread "count" ended without an answer.' })
})

test('a message that is none of answerInThread, or that cannot be read, ends the thread', async (t) => {
  await t.rejects(count({ to: 0, end: 'post' }), {
    message: 'The thread "count" posted a message of its own, past answerInThread.',
  })
  await t.rejects(count({ to: 0, end: 'send what nobody can read' }), {
    message: 'A message of the thread "count" cannot be read here.',
  })
})

test('an abort ends the thread with the reason of the signal', async (t) => {
  const abort = new AbortController()
  const reason = new Error('enough')
  await t.rejects(
    count({ to: 1, end: 'hang' }, () => abort.abort(reason), abort.signal),
    reason,
  )
  await t.rejects(count({ to: 1, end: 'answer' }, undefined, abort.signal), reason)
})

test('an abort while a thread makes streams of zlib ends the thread, and not the process', async (t) => {
  for (let round = 0; round < 30; round += 1) {
    const abort = new AbortController()
    const soon = () => setTimeout(() => abort.abort(), round / 10)
    await t.rejects(count({ to: 1, end: 'compress' }, soon, abort.signal), { name: 'AbortError' })
  }
})

test('an abort ends a thread whose event loop is blocked', async (t) => {
  const abort = new AbortController()
  const wanted = count({ to: 1, end: 'loop' }, () => abort.abort(), abort.signal)
  await t.rejects(wanted, { name: 'AbortError' })
})

test('an error of the caller ends the thread', async (t) => {
  const broken = () => {
    throw new Error('broken')
  }
  await t.rejects(count({ to: 1, end: 'hang' }, broken), { message: 'broken' })
})

test('a module has the extension of the one beside it', (t) => {
  t.equal(moduleBeside('file:///a/dist/index.js', 'inner/thread').href, 'file:///a/dist/inner/thread.js')
  t.equal(moduleBeside('file:///a/src/index.ts', 'thread').href, 'file:///a/src/thread.ts')
  t.end()
})
