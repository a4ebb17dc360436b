import { test } from 'tap'
import { newId, openUploadDatabase, Uploads } from '../src/uploads.ts'

test('of 10,000 begun uploads, the newest and those in use stay', async (t) => {
  const database = openUploadDatabase(':memory:')
  t.teardown(() => database.close())
  const uploads = new Uploads(database, 64)
  let used = ''
  const condition = { ifRevision: null, ifAbsent: false }
  const create = (path: string) => {
    const id = newId()
    const upload = { id, path, length: 5, metadata: {}, modified: null, ...condition }
    uploads.create('ada', upload, (other) => other === used)
    return id
  }
  used = create('/used')
  for (let begun = 1; begun <= 10_000; begun += 1) create(`/${begun}`)
  const newest = Array.from({ length: 63 }, (_, number) => `/${10_000 - number}`)
  t.strictSame(new Set(uploads.unfinished('ada').map(({ path }) => path)), new Set(['/used', ...newest]))
  t.strictSame(uploads.unfinished('grace'), [])
  t.throws(() => uploads.get('grace', used), { code: 'NOT_FOUND' })

  for (let ended = 0; ended < 100; ended += 1)
    uploads.finish('ada', create(`/${ended}`), { path: `/${ended}`, revision: `${ended}` })
  t.equal(database.prepare('SELECT count(*) AS count FROM uploads').get()?.count, 63 + 64)
})
