import { once } from 'node:events'
import type { FileContentHash, FileIndex, HashOptions } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { ReadBacks } from '../src/read-backs.ts'

/** An index whose reads end when the test says so. */
function slowReads() {
  const reads: { path: string; signal: AbortSignal; end(sha256: string): void }[] = []
  const hash = (path: string, { signal = new AbortController().signal }: HashOptions = {}) => {
    const { promise, resolve, reject } = Promise.withResolvers<FileContentHash>()
    signal.addEventListener('abort', () => reject(signal.reason))
    reads.push({ path, signal, end: (sha256) => resolve({ revision: '1', size: 1, sha256 }) })
    return promise
  }
  const index = { for: () => ({ hash }) } as unknown as FileIndex
  const { signal } = new AbortController()
  return { reads, backs: new ReadBacks({ index, log: { warn() {} }, signal }) }
}

t.test('a file that takes long is read on, and ends when nobody asks', async (t) => {
  const { reads, backs } = slowReads()
  const bounds = () => ({ end: performance.now(), signal: new AbortController().signal })
  const patient = () => ({ ...bounds(), end: performance.now() + 60_000 })
  t.equal(await backs.read('ada', '/a', bounds()), 'late')
  t.equal(await backs.read('ada', '/a', bounds()), 'late')
  t.equal(reads.length, 1, 'the read goes on')
  const outcome = backs.read('ada', '/a', patient())
  reads[0]?.end('abc')
  t.match(await outcome, { sha256: 'abc' })
  const again = backs.read('ada', '/a', patient())
  t.equal(reads.length, 2, 'an outcome that was told does not count for the next question')
  reads[1]?.end('def')
  t.match(await again, { sha256: 'def' })

  for (const path of ['/1', '/2', '/3', '/4', '/5']) await backs.read('ada', path, bounds())
  const ended = reads.filter(({ signal }) => signal.aborted).map(({ path }) => path)
  t.strictSame(ended, ['/1'], 'of reads without a request, a user has a few')
  t.equal(await backs.read('bob', '/2', bounds()), 'late')
  t.equal(reads.at(-1)?.path, '/2', 'no read is shared with another user')
})

t.test('a client that leaves ends its read', async (t) => {
  const { reads, backs } = slowReads()
  const client = new AbortController()
  const read = backs.read('ada', '/a', { end: performance.now() + 60_000, signal: client.signal })
  const { signal = new AbortController().signal } = reads[0] ?? {}
  const aborted = once(signal, 'abort')
  client.abort(new Error('left'))
  await aborted
  await t.rejects(read, /left/)
})
