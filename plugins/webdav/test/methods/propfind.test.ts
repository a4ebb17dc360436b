import t, { test } from 'tap'
import { connectProgram, createDavNode } from '../fixtures/dav-node.ts'
import { propertiesIn, propfindOf, responsesIn } from '../fixtures/multistatus.ts'

// Users are apart, so one node is enough for all tests.
const node = await createDavNode({ config: { storage: { quota: '10MB' } } })
t.teardown(() => node.stop())

const connect = async () => connectProgram(node, await node.signIn())
const one = { headers: { depth: '0' } }
const all = { headers: { depth: '1' } }

test('a file has the properties of RFC 4918', async (t) => {
  const ada = await connect()
  const { headers } = await ada.expect(201, 'PUT', '/a%26b.txt', {
    headers: { 'x-oc-mtime': '981173106' },
    body: 'hello',
  })
  const { text } = await ada.expect(207, 'PROPFIND', '/a%26b.txt', one)
  const properties = propertiesIn(text)
  t.match(properties, {
    '{DAV:}displayname': 'a&amp;b.txt',
    '{DAV:}getcontentlength': '5',
    '{DAV:}getcontenttype': 'text/plain',
    '{DAV:}getlastmodified': 'Sat, 03 Feb 2001 04:05:06 GMT',
    '{DAV:}resourcetype': '',
    '{DAV:}lockdiscovery': '',
  })
  t.equal(properties['{DAV:}getetag']?.replaceAll('&quot;', '"'), headers.get('etag'))
  t.match(properties['{DAV:}creationdate'], /^20\d\d-\d\d-\d\dT/)
  t.match(properties['{DAV:}supportedlock'], /exclusive.*shared/)
})

test('a folder is listed with depth 1, and nothing deeper', async (t) => {
  const ada = await connect()
  for (const folder of ['/f', '/f/g']) await ada.expect(201, 'MKCOL', folder)
  for (const file of ['/f/a', '/f/g/b']) await ada.expect(201, 'PUT', file, { body: 'x' })
  const listed = responsesIn((await ada.expect(207, 'PROPFIND', '/f', all)).text)
  t.same(
    listed.map(({ href }) => href),
    ['/dav/f/', '/dav/f/a', '/dav/f/g/'],
  )
  t.match(listed[2]?.properties[200], { '{DAV:}resourcetype': /collection/, '{DAV:}displayname': 'g' })
  t.notOk('{DAV:}getcontentlength' in (listed[2]?.properties[200] ?? {}))
  t.equal(responsesIn((await ada.expect(207, 'PROPFIND', '/f/', one)).text).length, 1)
  t.equal(responsesIn((await ada.expect(207, 'PROPFIND', '/f/a', all)).text).length, 1)
  await ada.expect(404, 'PROPFIND', '/missing', one)
  for (const headers of [{}, { depth: 'infinity' }]) {
    const { text } = await ada.expect(403, 'PROPFIND', '/', { headers })
    t.match(text, /<D:propfind-finite-depth\/>/)
  }
  await ada.expect(400, 'PROPFIND', '/', { headers: { depth: '2' } })
})

test('a client names the properties that it wants, or asks for their names', async (t) => {
  const ada = await connect()
  await ada.expect(201, 'PUT', '/a', { body: 'x' })
  const body = propfindOf('{DAV:}getcontentlength', '{urn:x}color', '{}plain', '{DAV:}missing')
  const [some] = responsesIn((await ada.expect(207, 'PROPFIND', '/a', { ...one, body })).text)
  t.strictSame(some?.properties, {
    200: { '{DAV:}getcontentlength': '1' },
    404: { '{urn:x}color': '', '{}plain': '', '{DAV:}missing': '' },
  })
  const names = '<propfind xmlns="DAV:"><propname/></propfind>'
  const named = propertiesIn((await ada.expect(207, 'PROPFIND', '/a', { ...one, body: names })).text)
  t.ok('{DAV:}getetag' in named)
  t.ok(Object.values(named).every((value) => value === ''))
  const include = '<propfind xmlns="DAV:"><allprop/><include><lastmodified/></include></propfind>'
  const included = propertiesIn((await ada.expect(207, 'PROPFIND', '/a', { ...one, body: include })).text)
  t.match(included['{DAV:}lastmodified'], /^\d+$/)
  t.equal(included['{DAV:}getcontentlength'], '1')
  for (const body of [
    '<propfind xmlns="DAV:"/>',
    '<propfind xmlns="DAV:"><prop/><allprop/></propfind>',
    '<propfind/>',
    '<lockinfo xmlns="DAV:"/>',
  ])
    await ada.expect(400, 'PROPFIND', '/a', { ...one, body })
})

test('a folder tells the room of its user, when it is asked', async (t) => {
  const ada = await connect()
  await ada.expect(201, 'PUT', '/a', { body: 'x'.repeat(1000) })
  const body = propfindOf('{DAV:}quota-used-bytes', '{DAV:}quota-available-bytes')
  const quota = propertiesIn((await ada.expect(207, 'PROPFIND', '/', { ...one, body })).text)
  t.strictSame(quota, { '{DAV:}quota-used-bytes': '1000', '{DAV:}quota-available-bytes': '9999000' })
  const file = responsesIn((await ada.expect(207, 'PROPFIND', '/a', { ...one, body })).text)
  t.same(Object.keys(file[0]?.properties ?? {}), ['404'])
})

test('checksums are told where they are known', async (t) => {
  const ada = await connect()
  const sha256 = '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881'
  await ada.expect(201, 'PUT', '/x', { headers: { 'oc-checksum': `SHA256:${sha256}` }, body: 'x' })
  const body = propfindOf('{http://owncloud.org/ns}checksums')
  const [, listed] = responsesIn((await ada.expect(207, 'PROPFIND', '/', { ...all, body })).text)
  t.match(listed?.properties[200]?.['{http://owncloud.org/ns}checksums'], `SHA256:${sha256}<`)
})

test('a large folder is listed in pages', async (t) => {
  const ada = await connect()
  await ada.expect(201, 'MKCOL', '/f')
  const names = Array.from({ length: 601 }, (_, n) => `${n}`.padStart(3, '0'))
  await Promise.all(
    names.map((name) => ada.user.fetch(`/write?path=/f/${name}`, { method: 'PUT', body: '' })),
  )
  const listed = responsesIn((await ada.expect(207, 'PROPFIND', '/f', all)).text)
  t.same(
    listed.map(({ href }) => href),
    ['/dav/f/', ...names.map((name) => `/dav/f/${name}`)],
  )
})

test('the folders above the files are there for Windows', async (t) => {
  const ada = await connect()
  const headers = { authorization: `Bearer ${ada.token}`, depth: '1' }
  const answer = await node.fetch('/', { method: 'PROPFIND', headers })
  t.equal(answer.status, 207)
  t.same(
    responsesIn(await answer.text()).map(({ href }) => href),
    ['/', '/dav/'],
  )
  const options = await node.fetch('/', { method: 'OPTIONS', headers })
  t.equal(options.headers.get('ms-author-via'), 'DAV')
})
