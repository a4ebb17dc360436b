import type { TestUser } from '@nodekeep/kernel/testing'
import t, { test } from 'tap'
import {
  createPreviewNode,
  fixture,
  photosOf,
  post,
  put,
  untilComplete,
  varied,
} from '../fixtures/preview-node.ts'

t.jobs = 2

const node = await createPreviewNode()
t.teardown(() => node.stop())

const day = (date: string) => new Date(`${date}T10:00:00Z`)

test('photos of all folders are listed by date, with what they tell', async (t) => {
  const [ada, bob] = [await node.signIn(), await node.signIn()]
  await put(ada, '/deep/in/photo.jpg', fixture('photo.jpg'), day('2026-11-01'))
  await put(ada, '/new.png', fixture('png.png'), day('2026-08-01'))
  await put(ada, '/old.gif', fixture('gif.gif'), day('2020-01-01'))
  await put(ada, '/song.mp3', fixture('mp3.mp3'))
  await put(ada, '/text.txt', Buffer.from('no photo'))
  await untilComplete(ada)
  const { photos, next, isComplete } = await photosOf(ada)
  t.strictSame(
    photos.map(({ path }) => path),
    ['/new.png', '/deep/in/photo.jpg', '/old.gif'],
    'the date of the camera counts before that of the file',
  )
  t.strictSame([next, isComplete], [null, true])
  t.strictSame(photos[1], {
    path: '/deep/in/photo.jpg',
    name: 'photo.jpg',
    size: fixture('photo.jpg').length,
    modified: '2026-11-01T10:00:00.000Z',
    taken: '2026-05-01T12:00:00',
    date: '2026-05-01T12:00:00',
    width: 750,
    height: 1000,
    place: { latitude: 48.208333, longitude: -16.373056 },
    camera: 'Acme One',
  })
  t.match(photos[0], { taken: null, place: null, camera: null, date: '2026-08-01T10:00:00.000Z' })
  t.strictSame((await photosOf(bob)).photos, [])
  t.equal((await node.fetch('/api/previews/photos')).status, 401)

  const photoAt = async (user: TestUser, path: string) =>
    (await (await user.fetch(`/api/previews/photo?path=${path}`)).json()) as { photo: object | null }
  t.strictSame(await photoAt(ada, '/deep/in/photo.jpg'), { photo: photos[1] })
  for (const path of ['/song.mp3', '/text.txt', '/none.jpg', '/'])
    t.strictSame(await photoAt(ada, path), { photo: null }, path)
  t.strictSame(await photoAt(bob, '/new.png'), { photo: null })
  t.equal((await node.fetch('/api/previews/photo?path=/new.png')).status, 401)
})

test('a range of dates and pages', async (t) => {
  const ada = await node.signIn()
  for (let month = 1; month <= 9; month += 1)
    await put(ada, `/${month}.png`, varied(fixture('png.png')), day(`2026-0${month}-15`))
  await untilComplete(ada)
  const named = async (query: Record<string, string>) =>
    (await photosOf(ada, query)).photos.map(({ name }) => name.replace('.png', '')).join()
  t.equal(await named({ from: '2026-03-15', to: '2026-05-15' }), '5,4,3', 'both days are included')
  t.equal(await named({ from: '2026-03-16', to: '2026-05-14' }), '4')
  t.equal(await named({ to: '2026-02-15T10:00:00Z' }), '1', 'a time is not')
  t.equal(await named({ from: '2026-09-15T11:00:00+01:00' }), '9')
  const seen: string[] = []
  let after: string | null = null
  do {
    const page = await photosOf(ada, { limit: '4', ...(after && { after }) })
    seen.push(...page.photos.map(({ name }) => name.replace('.png', '')))
    after = page.next
  } while (after !== null)
  t.equal(seen.join(), '9,8,7,6,5,4,3,2,1')
  const bad = [
    { from: 'May' },
    { to: '2026-13-01' },
    { from: '2026-02-31' },
    { to: '2026-02-30T10:00:00Z' },
    { after: 'x' },
    { limit: '0' },
    { limit: '501' },
    { more: '1' },
  ]
  for (const query of bad)
    await t.rejects(photosOf(ada, query as never), /VALIDATION_ERROR/, JSON.stringify(query))
})

test('the months of the photos are counted', async (t) => {
  const [ada, bob] = [await node.signIn(), await node.signIn()]
  const monthsOf = async (user: typeof ada) =>
    (await user.fetch('/api/previews/photos/months')).json() as Promise<object>
  for (const date of ['2026-03-31', '2026-04-01', '2026-04-30', '1968-12-31'])
    await put(ada, `/${date}.png`, varied(fixture('png.png')), day(date))
  await put(ada, '/photo.jpg', fixture('photo.jpg'), day('2026-11-01'))
  await put(ada, '/text.txt', Buffer.from('no photo'), day('2026-11-01'))
  await untilComplete(ada)
  t.strictSame(await monthsOf(ada), {
    months: [
      { month: '2026-05', photos: 1 },
      { month: '2026-04', photos: 2 },
      { month: '2026-03', photos: 1 },
      { month: '1968-12', photos: 1 },
    ],
    isComplete: true,
  })
  t.match(await monthsOf(bob), { months: [] })
  t.equal((await node.fetch('/api/previews/photos/months')).status, 401)
})

test('the list follows moves, deletions and new contents at once or soon', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/in/a.png', varied(fixture('png.png')), day('2026-01-01'))
  await put(ada, '/in/b.png', varied(fixture('png.png')), day('2026-01-02'))
  await untilComplete(ada)
  const listed = async () => (await photosOf(ada)).photos.map(({ path }) => path)
  await post(ada, '/move', { source: '/in', destination: '/out' })
  t.strictSame(await listed(), ['/out/b.png', '/out/a.png'])
  await post(ada, '/delete', { path: '/out/b.png' })
  t.strictSame(await listed(), ['/out/a.png'])
  await put(ada, '/out/a.png', Buffer.from('no picture any more'), day('2026-01-03'))
  await untilComplete(ada)
  t.strictSame(await listed(), [])
  await put(ada, '/out/a.png', varied(fixture('gif.gif')), day('2026-01-04'))
  await untilComplete(ada)
  t.strictSame(await listed(), ['/out/a.png'])
})
