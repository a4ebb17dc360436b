import assert from 'node:assert/strict'
import type { StorageBackend } from '../../contracts/storage.ts'
import { assertAborted, assertFails } from '../failures.ts'
import { soon } from '../soon.ts'
import { assertContent, entries, names, put } from './assertions.ts'
import { collect, pattern, silentStream, stream } from './bytes.ts'
import { type BackendCheck, movesFiles } from './subject.ts'

export function lifecycleChecks(check: BackendCheck): void {
  check('the probe of a working backend succeeds, and leaves nothing behind', async (backend) => {
    await backend.probe(new AbortController().signal)
    const signal = AbortSignal.abort()
    await assertAborted(backend.probe(signal), signal)
    assert.deepEqual(await names(backend, '/'), [], 'the probe leaves nothing behind')
  })

  check('after the close, every call fails with SERVICE_UNAVAILABLE', async (backend) => {
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
      ['move', async () => backend.move?.('/file', '/other')],
    ]
    for (const [name, call] of calls.filter(([name]) => name !== 'move' || movesFiles(backend)))
      await assertFails(call(), ['SERVICE_UNAVAILABLE'], `${name} after the close`)
  })

  check('a close ends readings with an error, and never as if the file were shorter', async (backend) => {
    await backend.write('/file', stream(pattern(8 * 1024 * 1024)))
    const begun = (await backend.read('/file')).content[Symbol.asyncIterator]()
    await begun.next()
    const { content: untouched } = await backend.read('/file')
    await soon(backend.close(), 'the close waits for a reader')
    const rest = collect({ [Symbol.asyncIterator]: () => begun })
    await assertFails(rest, ['SERVICE_UNAVAILABLE'], 'the rest of a reading')
    await assertFails(collect(untouched), ['SERVICE_UNAVAILABLE'], 'a reading that had not begun')
  })

  check('a close does not wait for a write without an end', async (backend) => {
    const { content, silent } = silentStream(pattern(10))
    const writing = backend.write('/file', content).then(
      () => 'written',
      () => 'aborted',
    )
    await silent
    await soon(backend.close(), 'the close waits for a write without an end')
    assert.equal(await soon(writing, 'the write goes on after the close'), 'aborted')
  })
}

/** Tests for backends that keep their files after the close. */
export function reopeningChecks(
  check: BackendCheck,
  reopen: ((closed: StorageBackend) => Promise<StorageBackend>) | undefined,
): void {
  check('written files exist after a close and a new start', async (backend, skip) => {
    if (reopen === undefined) return skip('The harness has no "reopen".')
    const bytes = pattern(1_500_000)
    const written = await backend.write('/folder/file', stream(bytes))
    await backend.makeDirectory('/empty')
    await put(backend, '/removed', 'x')
    await backend.remove('/removed')
    const { silent, content } = silentStream(pattern(10))
    const unfinished = backend.write('/unfinished', content).catch(() => {})
    await silent
    await backend.close()
    await soon(unfinished, 'a write without an end goes on after the close')
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

  check('revisions are not used again after a close and a new start', async (backend, skip) => {
    if (reopen === undefined) return skip('The harness has no "reopen".')
    const revisions: string[] = []
    const writeAll = async (storage: StorageBackend) => {
      for (let count = 0; count < 20; count += 1) revisions.push((await put(storage, '/file', 'x')).revision)
    }
    await writeAll(backend)
    await backend.close()
    const again = await reopen(backend)
    try {
      await writeAll(again)
    } finally {
      await again.close()
    }
    assert.equal(new Set(revisions).size, revisions.length, 'each write has a revision of its own')
  })
}
