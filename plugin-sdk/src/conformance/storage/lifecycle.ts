import assert from 'node:assert/strict'
import type { StorageBackend } from '../../contracts/storage.ts'
import { soon } from '../soon.ts'
import { assertAborted, assertContent, assertFails, entries, names, put } from './assertions.ts'
import { pattern, silentStream, stream } from './bytes.ts'
import type { BackendCheck } from './subject.ts'

export function lifecycleChecks(check: BackendCheck): void {
  check('a backend that works says so', async (backend) => {
    await backend.probe(new AbortController().signal)
    const signal = AbortSignal.abort()
    await assertAborted(backend.probe(signal), signal)
    assert.deepEqual(await names(backend, '/'), [], 'and leaves nothing behind')
  })

  check('after its close a backend is out of reach, and says so', async (backend) => {
    await put(backend, '/file', 'x')
    await backend.close()
    await backend.close()
    const signal = new AbortController().signal
    const calls: [name: string, call: () => Promise<unknown>][] = [
      ['probe', () => backend.probe(signal)],
      ['stat', () => backend.stat('/file')],
      ['list', () => entries(backend, '/')],
      ['read', () => backend.read('/file')],
      ['write', () => put(backend, '/file', 'y')],
      ['makeDirectory', () => backend.makeDirectory('/folder')],
      ['remove', () => backend.remove('/file')],
      ['move', () => backend.move('/file', '/other')],
    ]
    for (const [name, call] of calls)
      await assertFails(call(), ['SERVICE_UNAVAILABLE'], `${name} after the close`)
  })

  check('a close does not wait for those who never end', async (backend) => {
    const { content, silent } = silentStream(pattern(10))
    const writing = backend.write('/file', content).then(
      () => 'written',
      () => 'given up',
    )
    await silent
    await soon(backend.close(), 'the close waits for a write that has no end')
    assert.equal(await soon(writing, 'the write goes on after the close'), 'given up')
  })
}

/** For backends that keep files beyond their own life. */
export function reopeningChecks(
  check: BackendCheck,
  reopen: (closed: StorageBackend) => Promise<StorageBackend>,
): void {
  check('what was written is there after a close and a new start', async (backend) => {
    const bytes = pattern(1_500_000)
    const written = await backend.write('/folder/file', stream(bytes))
    await backend.makeDirectory('/empty')
    await put(backend, '/removed', 'x')
    await backend.remove('/removed')
    const { silent, content } = silentStream(pattern(10))
    const unfinished = backend.write('/unfinished', content).catch(() => {})
    await silent
    await backend.close()
    await soon(unfinished, 'a write that has no end goes on after the close')
    const again = await reopen(backend)
    try {
      assert.deepEqual(await names(again, '/'), ['empty', 'folder'])
      assert.deepEqual(await again.stat('/folder/file'), written)
      await assertContent(again, '/folder/file', bytes)
      await put(again, '/folder/file', 'later')
    } finally {
      await again.close()
    }
  })
}
