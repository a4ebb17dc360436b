import assert from 'node:assert/strict'
import { assertContent, assertFails, names, put, text } from './assertions.ts'
import { pattern, stream } from './bytes.ts'
import type { BackendCheck } from './subject.ts'

export function snapshotChecks(check: BackendCheck): void {
  check('a backend has snapshots when it says so, and only then', async (backend) => {
    assert.equal(backend.supports.snapshot, backend.snapshot !== undefined)
  })

  check('a snapshot stays as it was, whatever happens to the files', async (backend) => {
    if (backend.snapshot === undefined) return
    const bytes = pattern(1_500_000)
    await backend.write('/folder/file', stream(bytes))
    await put(backend, '/overwritten', 'old')
    await put(backend, '/removed', 'old')
    const snapshot = await backend.snapshot(new AbortController().signal)
    await backend.move('/folder', '/moved')
    await put(backend, '/overwritten', 'new')
    await put(backend, '/added', 'new')
    await backend.remove('/removed')
    assert.deepEqual(await names(snapshot, '/'), ['folder', 'overwritten', 'removed'])
    await assertContent(snapshot, '/folder/file', bytes)
    assert.equal(await text(snapshot, '/overwritten'), 'old')
    assert.equal(await text(snapshot, '/removed'), 'old')
    await assertFails(snapshot.read('/added'), ['NOT_FOUND'], 'what came later')
    await snapshot.release()
    assert.deepEqual(await names(backend, '/'), ['added', 'moved', 'overwritten'])
  })
}
