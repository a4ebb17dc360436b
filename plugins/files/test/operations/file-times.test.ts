import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode } from '../fixtures/files-node.ts'

async function* bytes(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text)
}

const modified = new Date('2001-02-03T04:05:06.789Z')

async function createFiles(t: Pick<Test, 'teardown'>) {
  const services = captureServices()
  const node = await createFilesNode({ mounts: { '/memory': 'memory' } }, { plugins: [services.plugin] })
  t.teardown(() => node.stop())
  return services.files.for({ uuid: randomUUID() })
}

t.test(
  'a write keeps the time that its caller sets, and an overwrite keeps the date of creation',
  async (t) => {
    const files = await createFiles(t)
    const first = await files.write('/file', bytes('first'))
    const { isUndoable, ...second } = await files.write('/file', bytes('second'), { modified })
    t.ok(isUndoable)
    t.strictSame(second.modified, modified)
    t.strictSame(second.created, first.created)
    t.strictSame(await files.stat('/file'), second)
    const third = await files.write('/file', bytes('third'))
    t.strictSame(third.created, first.created)
    t.ok(third.modified > modified)
  },
)

t.test('a move to another mount keeps both dates of each file', async (t) => {
  const files = await createFiles(t)
  await files.write('/folder/file', bytes('first'))
  const { created } = await files.write('/folder/file', bytes('second'), { modified })
  for (const [from, to] of [
    ['/folder', '/memory/folder'],
    ['/memory/folder', '/back'],
  ] as const) {
    await files.move(from, to)
    t.match(await files.stat(`${to}/file`), { modified, created })
  }
})

t.test('a time that is no date is refused', async (t) => {
  const files = await createFiles(t)
  for (const invalid of [new Date(Number.NaN), '2001-02-03', 981173106789]) {
    const write = files.write('/file', bytes('x'), { modified: invalid as Date })
    await t.rejects(write, { code: 'VALIDATION_ERROR', message: /time of modification/ })
  }
  await t.rejects(files.stat('/file'), { code: 'NOT_FOUND' })
})
