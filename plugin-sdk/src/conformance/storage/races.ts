import assert from 'node:assert/strict'
import { assertCode, assertFails } from '../failures.ts'
import { assertContent, names, put, text } from './assertions.ts'
import { stream } from './bytes.ts'
import { type BackendCheck, movesFiles, noMoves, type StorageCheck, type StorageView } from './subject.ts'

/** Tests of several writes with conditions at a time. */
export function writeRaceChecks(check: StorageCheck): void {
  check('of several writes with `ifAbsent`, exactly one succeeds', async (storage) => {
    for (let round = 0; round < 5; round += 1) {
      const path = `/race-${round}/file`
      await assertOneWins(storage, path, () => ({ ifAbsent: true }))
    }
  })

  check('of several writes with the same `ifRevision`, exactly one succeeds', async (storage) => {
    for (let round = 0; round < 5; round += 1) {
      const { revision } = await put(storage, '/file', `before round ${round}`)
      await assertOneWins(storage, '/file', () => ({ ifRevision: revision }))
    }
  })
}

/** Tests of several other changes of the same path at a time. */
export function raceChecks(check: StorageCheck): void {
  check('of several removals of one file, exactly one succeeds', async (storage) => {
    await put(storage, '/file', 'x')
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => storage.remove('/file')))
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') {
        await assertFails(Promise.reject(outcome.reason), ['NOT_FOUND'], 'a late removal')
      }
    }
  })

  check('of several moves of one file, exactly one succeeds', async (storage, skip) => {
    if (!movesFiles(storage)) return skip(noMoves)
    await put(storage, '/file', 'x')
    const moves = Array.from({ length: 8 }, (_, index) => storage.move('/file', `/moved-${index}`))
    const outcomes = await Promise.allSettled(moves)
    const won = outcomes.flatMap(({ status }, index) => (status === 'fulfilled' ? [`moved-${index}`] : []))
    assert.equal(won.length, 1)
    assert.deepEqual(await names(storage, '/'), won)
  })

  check('of several moves to one free path, exactly one succeeds', async (storage, skip) => {
    if (!movesFiles(storage)) return skip(noMoves)
    for (let index = 0; index < 8; index += 1) await put(storage, `/file-${index}`, `${index}`)
    const moves = Array.from({ length: 8 }, (_, index) => storage.move(`/file-${index}`, '/to'))
    const outcomes = await Promise.allSettled(moves)
    const won = outcomes.flatMap(({ status }, index) => (status === 'fulfilled' ? [`${index}`] : []))
    assert.equal(won.length, 1)
    assert.equal(await text(storage, '/to'), won[0])
    assert.equal((await names(storage, '/')).length, 8, 'the files of the other moves stay where they are')
  })

  check('writes into a folder that is being removed leave whole files only', async (storage) => {
    for (let round = 0; round < 10; round += 1) {
      await storage.makeDirectory('/folder/inner')
      const writes = Array.from({ length: 6 }, (_, index) =>
        storage.write(`/folder/inner/${index}`, stream(`${index}`)),
      )
      const outcomes = await Promise.allSettled([storage.remove('/folder'), ...writes])
      assert.equal(outcomes[0]?.status, 'fulfilled')
      const left = await names(storage, '/folder/inner').catch(() => [])
      for (const name of left) await assertContent(storage, `/folder/inner/${name}`, Buffer.from(name))
      for (const root of await names(storage, '/')) await storage.remove(`/${root}`)
    }
  })
}

/** Tests for backends only: the view of a user has no `onlyIfEmpty`. */
export function emptyRemovalRaceChecks(check: BackendCheck): void {
  check('with `onlyIfEmpty`, a file that is written meanwhile is not lost', async (backend) => {
    for (let round = 0; round < 20; round += 1) {
      await backend.makeDirectory('/folder')
      const [written] = await Promise.allSettled([
        put(backend, '/folder/file', `round ${round}`),
        backend.remove('/folder', { onlyIfEmpty: true }),
      ])
      if (written.status === 'rejected') throw written.reason
      assert.equal(await text(backend, '/folder/file'), `round ${round}`)
      await backend.remove('/folder/file')
    }
  })
}

async function assertOneWins(
  storage: StorageView,
  path: string,
  condition: () => { ifAbsent: true } | { ifRevision: string },
): Promise<void> {
  const attempts = Array.from({ length: 12 }, (_, writer) =>
    storage.write(path, stream(`writer ${writer}`, 3), condition()),
  )
  const outcomes = await Promise.allSettled(attempts)
  const winners = outcomes.flatMap(({ status }, writer) => (status === 'fulfilled' ? [writer] : []))
  assert.equal(winners.length, 1, `${winners.length} of 12 writers succeeded`)
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') assertCode(outcome.reason, ['PRECONDITION_FAILED'], 'a late writer')
  }
  assert.equal(await text(storage, path), `writer ${winners[0]}`)
}
