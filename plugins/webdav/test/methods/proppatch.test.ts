import t, { test } from 'tap'
import { connectProgram, contentOf, createDavNode, type DavClient } from '../fixtures/dav-node.ts'
import { propertiesIn, propfindOf, responsesIn } from '../fixtures/multistatus.ts'

// Users are apart, so one node is enough for all tests.
const node = await createDavNode({
  config: { webdav: { propertyBytesPerEntry: 2000, propertyBytesPerUser: 3000 } },
})
t.teardown(() => node.stop())

const connect = async () => connectProgram(node, await node.signIn())
const one = { headers: { depth: '0' } }
const color = '{urn:x}color'

const update = (content: string) =>
  `<?xml version="1.0"?><D:propertyupdate xmlns:D="DAV:" xmlns:x="urn:x">${content}</D:propertyupdate>`
const set = (properties: string) => update(`<D:set><D:prop>${properties}</D:prop></D:set>`)
const remove = (properties: string) => update(`<D:remove><D:prop>${properties}</D:prop></D:remove>`)

async function propertiesOf(client: DavClient, path: string, ...names: string[]) {
  const { text } = await client.expect(207, 'PROPFIND', path, { ...one, body: propfindOf(...names) })
  return propertiesIn(text)
}

/** The statuses of the properties in an answer, by their names. */
async function patch(client: DavClient, path: string, body: string) {
  const { text } = await client.expect(207, 'PROPPATCH', path, { body })
  const [response] = responsesIn(text)
  return Object.fromEntries(
    Object.entries(response?.properties ?? {}).flatMap(([status, names]) =>
      Object.keys(names).map((name) => [name, Number(status)]),
    ),
  )
}

test('properties are kept as they were sent, listed, changed and removed', async (t) => {
  const ada = await connect()
  await ada.expect(201, 'PUT', '/a', { body: 'x' })
  const value = '<x:b c="1 &lt; 2">grün</x:b> &amp; <y xmlns="urn:y"/>😀'
  t.strictSame(await patch(ada, '/a', set(`<x:color>${value}</x:color><plain>1</plain>`)), {
    [color]: 200,
    '{}plain': 200,
  })
  t.strictSame(await propertiesOf(ada, '/a', '{}plain'), { '{}plain': '1' })
  const kept = (await propertiesOf(ada, '/a', color))[color] ?? ''
  t.match(kept, /<x:b c="1 &lt; 2"[^>]*>grün<\/x:b> &amp; <y xmlns="urn:y"\/>😀/)
  t.ok(color in propertiesIn((await ada.expect(207, 'PROPFIND', '/a', one)).text), 'all properties have it')
  const [, listed] = responsesIn((await ada.expect(207, 'PROPFIND', '/', { headers: { depth: '1' } })).text)
  t.ok(color in (listed?.properties[200] ?? {}))
  const both = update(
    '<D:remove><D:prop><x:color/></D:prop></D:remove><D:set><D:prop><x:color>red</x:color></D:prop></D:set>',
  )
  t.strictSame(await patch(ada, '/a', both), { [color]: 200 })
  t.strictSame(await propertiesOf(ada, '/a', color), { [color]: 'red' }, 'changes are made in their order')
  t.strictSame(await patch(ada, '/a', remove('<x:color/><x:missing/>')), {
    [color]: 200,
    '{urn:x}missing': 200,
  })
  t.strictSame(await propertiesOf(ada, '/a', color), {})
})

test('the folder of all files keeps no properties', async (t) => {
  const ada = await connect()
  t.strictSame(await patch(ada, '/', set('<x:color>red</x:color>')), { [color]: 409 })
  t.strictSame(await patch(ada, '/', remove('<x:color/>')), { [color]: 200 })
})

test('all changes are made, or none', async (t) => {
  const ada = await connect()
  await ada.expect(201, 'PUT', '/a', { body: 'x' })
  t.strictSame(await patch(ada, '/a', set('<x:color>red</x:color><D:getetag>1</D:getetag>')), {
    [color]: 424,
    '{DAV:}getetag': 403,
  })
  t.strictSame(await propertiesOf(ada, '/a', color), {})
  t.match(
    (await ada.expect(207, 'PROPPATCH', '/a', { body: set('<D:getetag/>') })).text,
    /cannot-modify-protected/,
  )
  t.strictSame(await patch(ada, '/a', remove('<D:resourcetype/>')), { '{DAV:}resourcetype': 403 })
  await ada.expect(404, 'PROPPATCH', '/missing', { body: set('<x:color/>') })
  for (const body of ['', update(''), '<D:propfind xmlns:D="DAV:"/>', set('<y:z/>')])
    await ada.expect(400, 'PROPPATCH', '/a', { body })
})

test('properties follow a file when it moves by any way, and come along with a copy', async (t) => {
  const ada = await connect()
  await ada.expect(201, 'MKCOL', '/f')
  await ada.expect(201, 'PUT', '/f/a', { body: 'x' })
  await patch(ada, '/f', set('<x:color>blue</x:color>'))
  await patch(ada, '/f/a', set('<x:color>red</x:color>'))
  await ada.expect(204, 'PUT', '/f/a', { body: 'y' })
  await ada.expect(201, 'MOVE', '/f', { headers: { destination: '/dav/g' } })
  t.strictSame(await propertiesOf(ada, '/g/a', color), { [color]: 'red' })
  const moved = await ada.user.fetch('/move', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ source: '/g', destination: '/h' }),
  })
  t.equal(moved.status, 200)
  t.strictSame(await propertiesOf(ada, '/h/a', color), { [color]: 'red' })
  await ada.expect(201, 'COPY', '/h', { headers: { destination: '/dav/i' } })
  t.strictSame(await propertiesOf(ada, '/i', color), { [color]: 'blue' })
  t.strictSame(await propertiesOf(ada, '/i/a', color), { [color]: 'red' })
  t.strictSame(await propertiesOf(ada, '/h/a', color), { [color]: 'red' })
  await ada.expect(201, 'COPY', '/h', { headers: { destination: '/dav/j', depth: '0' } })
  t.strictSame(await propertiesOf(ada, '/j', color), { [color]: 'blue' })
  await ada.expect(404, 'GET', '/j/a')

  await ada.expect(201, 'PUT', '/plain', { body: 'z' })
  await ada.expect(204, 'COPY', '/plain', { headers: { destination: '/dav/h/a' } })
  t.strictSame(await propertiesOf(ada, '/h/a', color), {}, 'a file that is replaced loses its own')
  await ada.expect(204, 'DELETE', '/i')
  await ada.expect(201, 'MKCOL', '/i')
  t.strictSame(await propertiesOf(ada, '/i', color), {}, 'another folder with its name has none of them')
})

test('nobody sees the properties of another user', async (t) => {
  const [ada, grace] = [await connect(), await connect()]
  for (const client of [ada, grace]) await client.expect(201, 'PUT', '/a', { body: 'x' })
  await patch(ada, '/a', set('<x:color>red</x:color>'))
  t.strictSame(await propertiesOf(grace, '/a', color), {})
})

test('the bytes of properties are bounded for each file and each user', async (t) => {
  const ada = await connect()
  for (const path of ['/a', '/b']) await ada.expect(201, 'PUT', path, { body: 'x' })
  const large = (bytes: number) => set(`<x:color>${'x'.repeat(bytes)}</x:color>`)
  t.strictSame(await patch(ada, '/a', large(2000)), { [color]: 507 })
  t.strictSame(await patch(ada, '/a', large(1500)), { [color]: 200 })
  t.strictSame(await patch(ada, '/b', large(1500)), { [color]: 507 })
  t.strictSame(await propertiesOf(ada, '/b', color), {})
  await ada.expect(201, 'COPY', '/a', { headers: { destination: '/dav/b2' } })
  await ada.expect(204, 'DELETE', '/b2')
})

test('a program sets the time of a file', async (t) => {
  const ada = await connect()
  await ada.expect(201, 'PUT', '/a', { body: 'content' })
  const modified = '{DAV:}getlastmodified'
  for (const [property, name, date] of [
    [
      '<D:getlastmodified>Sat, 03 Feb 2001 04:05:06 GMT</D:getlastmodified>',
      modified,
      'Sat, 03 Feb 2001 04:05:06 GMT',
    ],
    ['<D:lastmodified>1000000000</D:lastmodified>', '{DAV:}lastmodified', 'Sun, 09 Sep 2001 01:46:40 GMT'],
    [
      '<z:Win32LastModifiedTime xmlns:z="urn:schemas-microsoft-com:">Tue, 05 May 2015 10:20:30 GMT</z:Win32LastModifiedTime>',
      '{urn:schemas-microsoft-com:}Win32LastModifiedTime',
      'Tue, 05 May 2015 10:20:30 GMT',
    ],
  ] as const) {
    t.strictSame(await patch(ada, '/a', set(property)), { [name]: 200 })
    t.strictSame(await propertiesOf(ada, '/a', modified), { [modified]: date })
    t.equal(await contentOf(ada, '/a'), 'content')
  }
  const stat = (await (await ada.user.fetch('/stat?path=/a')).json()) as { modified: string }
  t.equal(stat.modified, '2015-05-05T10:20:30.000Z', 'all ways see it')
  t.strictSame(await patch(ada, '/a', set('<D:getlastmodified>yesterday</D:getlastmodified>')), {
    [modified]: 409,
  })
  await ada.expect(201, 'MKCOL', '/f')
  const time = set('<D:getlastmodified>Sat, 03 Feb 2001 04:05:06 GMT</D:getlastmodified>')
  t.strictSame(await patch(ada, '/f', time), { [modified]: 200 })
})
