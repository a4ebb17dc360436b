import t from 'tap'
import { type CheckedAnswer, FolderCheck, type HashedFile, sentenceOf } from '../../src/browser/index.ts'

const day = (date: Date) => date.toISOString().slice(0, 10)
const inBackup = (tried: string): CheckedAnswer => ({
  state: 'stored',
  path: '/a',
  backup: { created: tried, tried },
})
const plain = (state: CheckedAnswer['state']): CheckedAnswer => ({ state, path: null, backup: null })

/** Checks one file for each answer, and returns the sentence. */
async function sentence(...answers: CheckedAnswer[]): Promise<string> {
  const left = [...answers]
  const check = new FolderCheck(
    async (files) => left.splice(0, files.length),
    () => {},
  )
  for (const _ of answers) await check.add({ name: 'a', size: 1, sha256: 'any' })
  await check.end()
  return sentenceOf(check.tally, day)
}

t.test('the sentence says what is true of all files', async (t) => {
  const [first, last] = [inBackup('2026-11-27T03:00:00.000Z'), inBackup('2026-11-28T03:00:00.000Z')]
  const [stored, absent] = [plain('stored'), plain('absent')]
  t.equal(await sentence(), 'There is no file to check.')
  t.equal(await sentence(last, last), 'All 2 are stored and in a backup that was tried out on 2026-11-28.')
  t.equal(
    await sentence(last, absent, absent),
    '1 of 3 is stored and in a backup that was tried out on 2026-11-28. These 2 are not stored.',
  )
  t.equal(
    await sentence(last, first, stored, absent),
    '2 of 4 are stored and in backups that were tried out from 2026-11-27 to 2026-11-28. 1 of 4 is stored, but in no backup that was tried out. This one is not stored.',
  )
  t.equal(await sentence(stored), 'The file is stored, but in no backup that was tried out.')
  t.equal(await sentence(absent), 'The file is not on the node.')
  t.equal(await sentence(absent, absent), 'None of the 2 is on the node.')
})

t.test('files are asked for some at a time, and again while the node reads', async (t) => {
  const asked: number[] = []
  const told: string[] = []
  let isBusy = true
  const check = new FolderCheck<HashedFile>(
    async (files) => {
      asked.push(files.length)
      return files.map(({ name }) => plain(isBusy && name === '7' ? 'pending' : 'stored'))
    },
    ({ name }) => {
      told.push(name)
      isBusy = told.length < 2000
    },
  )
  for (let at = 0; at < 2500; at++) await check.add({ name: String(at), size: 1, sha256: 'any' })
  await check.add({ name: 'large', size: 2 ** 40, sha256: 'any' })
  check.addUnread()
  await check.end()
  t.ok(asked.every((count) => count <= 1000))
  t.equal(new Set(told).size, 2501, 'each file is told once')
  t.equal(told.length, 2501)
  t.match(check.tally, { files: 2502, stored: 2501, inBackup: 0, tried: null })
})

t.test('a failure of a request is told', async (t) => {
  const check = new FolderCheck(
    async () => {
      throw new Error('refused')
    },
    () => {},
  )
  const add = async () => {
    for (let at = 0; at < 3000; at++) await check.add({ name: 'a', size: 1, sha256: 'any' })
  }
  await t.rejects(add(), /refused/)
})
