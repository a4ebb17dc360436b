import { createHash } from 'node:crypto'
import t, { test } from 'tap'
import { connectProgram, contentOf, createDavNode, namesIn } from './fixtures/dav-node.ts'
import { lockInfo, lockPath, tokenOf } from './fixtures/locking.ts'
import { propertiesIn, propfindOf, responsesIn } from './fixtures/multistatus.ts'

// Each test plays the requests of one program, as its source or public captures of it show them.
// Users are apart, so one node is enough for all tests.
const node = await createDavNode()
t.teardown(() => node.stop())

const connect = async () => connectProgram(node, await node.signIn())
const one = { depth: '0' }
const all = { depth: '1' }

test('the Finder saves a file with its attributes beside it', async (t) => {
  const ada = await connect()
  const agent = { 'user-agent': 'WebDAVFS/3.0.0 (03008000) Darwin/22.1.0' }
  await ada.expect(200, 'OPTIONS', '/', { headers: agent })
  const room = propfindOf(
    '{DAV:}quota-available-bytes',
    '{DAV:}quota-used-bytes',
    '{DAV:}quota',
    '{DAV:}quotaused',
  )
  await ada.expect(207, 'PROPFIND', '/', { headers: one, body: room })
  for (const [name, content] of [
    ['letter.txt', 'Dear Ms. Lindt'],
    ['._letter.txt', '\0\u0005\u0016\u0007'],
  ] as const) {
    await ada.expect(404, 'PROPFIND', `/${name}`, { headers: one })
    await ada.expect(201, 'PUT', `/${name}`, { headers: { ...agent }, body: '' })
    const token = await lockPath(ada, `/${name}`, {
      headers: { ...agent, depth: '0', timeout: 'Second-600' },
      body: lockInfo('exclusive', '<D:owner><D:href>http://www.apple.com/webdav_fs/</D:href></D:owner>'),
    })
    await ada.expect(204, 'PUT', `/${name}`, {
      headers: { ...agent, if: `(<${token}>)`, 'x-expected-entity-length': `${content.length}` },
      body: content,
    })
    await ada.expect(207, 'PROPFIND', `/${name}`, { headers: one })
    await ada.expect(204, 'UNLOCK', `/${name}`, { headers: { 'lock-token': `<${token}>` } })
    t.equal(await contentOf(ada, `/${name}`), content)
  }
  await ada.expect(404, 'GET', '/.DS_Store')
  await ada.expect(201, 'MOVE', '/letter.txt', {
    headers: { destination: `${node.url.origin}/dav/old.txt`, overwrite: 'F' },
  })
  await ada.expect(204, 'DELETE', '/._letter.txt')
  t.same(await namesIn(ada, '/'), ['old.txt'])
})

test('Windows connects a drive, and copies a file with its times to it', async (t) => {
  const ada = await connect()
  const headers = { 'user-agent': 'Microsoft-WebDAV-MiniRedir/10.0.19045', translate: 'f' }
  const authorization = `Bearer ${ada.token}`
  for (const path of ['/', '/dav', '/dav/']) {
    const found = await node.fetch(path, {
      method: 'PROPFIND',
      headers: { ...headers, authorization, depth: '0' },
    })
    t.equal(found.status, 207, path)
    await found.arrayBuffer()
  }
  await ada.expect(207, 'PROPFIND', '', { headers: { ...headers, ...all } })
  await ada.expect(404, 'PROPFIND', '/desktop.ini', { headers: { ...headers, ...one } })
  await ada.expect(201, 'PUT', '/Brief.docx', { headers: { ...headers }, body: '' })
  const token = await lockPath(ada, '/Brief.docx', { headers: { ...headers, timeout: 'Second-3600' } })
  const times =
    '<?xml version="1.0" encoding="utf-8" ?><D:propertyupdate xmlns:D="DAV:" xmlns:Z="urn:schemas-microsoft-com:"><D:set><D:prop>' +
    '<Z:Win32CreationTime>Tue, 05 May 2015 10:20:30 GMT</Z:Win32CreationTime><Z:Win32LastAccessTime>Tue, 05 May 2015 10:20:30 GMT</Z:Win32LastAccessTime>' +
    '<Z:Win32LastModifiedTime>Tue, 05 May 2015 10:20:30 GMT</Z:Win32LastModifiedTime><Z:Win32FileAttributes>00000020</Z:Win32FileAttributes></D:prop></D:set></D:propertyupdate>'
  const submit = { ...headers, if: `(<${token}>)` }
  await ada.expect(207, 'PROPPATCH', '/Brief.docx', { headers: submit, body: times })
  await ada.expect(200, 'HEAD', '/Brief.docx', { headers })
  await ada.expect(204, 'PUT', '/Brief.docx', { headers: submit, body: 'content' })
  const { text } = await ada.expect(207, 'PROPPATCH', '/Brief.docx', { headers: submit, body: times })
  t.same(Object.keys(responsesIn(text)[0]?.properties ?? {}), ['200'])
  await ada.expect(204, 'UNLOCK', '/Brief.docx', { headers: { ...headers, 'lock-token': `<${token}>` } })
  const listed = responsesIn(
    (await ada.expect(207, 'PROPFIND', '/', { headers: { ...headers, ...all } })).text,
  )
  t.match(listed[1]?.properties[200], {
    '{DAV:}getlastmodified': 'Tue, 05 May 2015 10:20:30 GMT',
    '{urn:schemas-microsoft-com:}Win32FileAttributes': '00000020',
  })
})

test('GNOME and KDE list, store, rename and delete', async (t) => {
  const ada = await connect()
  const body = propfindOf(
    '{DAV:}creationdate',
    '{DAV:}displayname',
    '{DAV:}getcontentlength',
    '{DAV:}getcontenttype',
    '{DAV:}getetag',
    '{DAV:}getlastmodified',
    '{DAV:}resourcetype',
    '{http://apache.org/dav/props/}executable',
  )
  await ada.expect(207, 'PROPFIND', '/', { headers: one, body })
  await ada.expect(201, 'MKCOL', '/Neuer%20Ordner')
  await ada.expect(201, 'PUT', '/Neuer%20Ordner/a', { headers: { 'if-none-match': '*' }, body: 'x' })
  const etag = (await ada.expect(200, 'HEAD', '/Neuer%20Ordner/a')).headers.get('etag') ?? ''
  await ada.expect(204, 'PUT', '/Neuer%20Ordner/a', { headers: { 'if-match': etag }, body: 'y' })
  await ada.expect(201, 'MOVE', '/Neuer%20Ordner/', {
    headers: { destination: `${node.url.origin}/dav/Ordner/`, overwrite: 'F', depth: 'infinity' },
  })
  t.equal(await contentOf(ada, '/Ordner/a'), 'y')
  await ada.expect(204, 'DELETE', '/Ordner/')
})

test('davfs2 locks a file, sends it, and marks it as executable', async (t) => {
  const ada = await connect()
  t.match((await ada.expect(200, 'OPTIONS', '/')).headers.get('dav'), /1.*2/)
  const made = await ada.expect(201, 'LOCK', '/run.sh', {
    headers: { depth: '0', timeout: 'Second-1800', 'content-type': 'application/xml' },
    body: lockInfo('exclusive', '<D:owner>davfs2 1.6.1</D:owner>'),
  })
  const submit = { if: `</dav/run.sh> (<${tokenOf(made)}>)` }
  await ada.expect(204, 'PUT', '/run.sh', { headers: submit, body: '#!/bin/sh' })
  await ada.expect(207, 'PROPPATCH', '/run.sh', {
    headers: submit,
    body: '<?xml version="1.0"?><D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><executable xmlns="http://apache.org/dav/props/">T</executable></D:prop></D:set></D:propertyupdate>',
  })
  await ada.expect(200, 'LOCK', '/run.sh', { headers: { ...submit, timeout: 'Second-1800' } })
  await ada.expect(204, 'UNLOCK', '/run.sh', { headers: { 'lock-token': `<${tokenOf(made)}>` } })
  const name = '{http://apache.org/dav/props/}executable'
  const { text } = await ada.expect(207, 'PROPFIND', '/run.sh', { headers: one, body: propfindOf(name) })
  t.strictSame(propertiesIn(text), { [name]: 'T' })
})

test('rclone, as for ownCloud and others, keeps times and checks what it sends', async (t) => {
  const ada = await connect()
  await ada.expect(201, 'MKCOL', '/backup/')
  await ada.expect(405, 'MKCOL', '/backup/')
  const content = 'a backup'
  const sha1 = createHash('sha1').update(content).digest('hex')
  await ada.expect(201, 'PUT', '/backup/a', {
    headers: {
      'x-oc-mtime': '1600000000',
      'oc-checksum': `SHA1:${sha1}`,
      'oc-total-length': `${content.length}`,
    },
    body: content,
  })
  const body = propfindOf(
    '{DAV:}displayname',
    '{DAV:}getlastmodified',
    '{DAV:}getcontentlength',
    '{DAV:}resourcetype',
    '{DAV:}getcontenttype',
    '{http://owncloud.org/ns}checksums',
    '{http://owncloud.org/ns}permissions',
  )
  const listed = responsesIn((await ada.expect(207, 'PROPFIND', '/backup/', { headers: all, body })).text)
  t.match(listed[1]?.properties[200], {
    '{DAV:}getlastmodified': 'Sun, 13 Sep 2020 12:26:40 GMT',
    '{DAV:}getcontentlength': '8',
  })
  await ada.expect(207, 'PROPPATCH', '/backup/a', {
    body: '<?xml version="1.0"?><D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><lastmodified xmlns="DAV:">1500000000</lastmodified></D:prop></D:set></D:propertyupdate>',
  })
  const head = await ada.expect(200, 'HEAD', '/backup/a')
  t.equal(head.headers.get('last-modified'), 'Fri, 14 Jul 2017 02:40:00 GMT')
  await ada.expect(201, 'MOVE', '/backup/a', { headers: { destination: '/dav/backup/b', overwrite: 'T' } })
  await ada.expect(204, 'DELETE', '/backup/')
})

test('Cyberduck keeps a time in a property of its own', async (t) => {
  const ada = await connect()
  await ada.expect(207, 'PROPFIND', '/', {
    headers: { ...all, 'content-type': 'text/xml; charset=UTF-8' },
    body: '<?xml version="1.0" encoding="UTF-8"?><D:propfind xmlns:D="DAV:"><D:allprop/></D:propfind>',
  })
  await ada.expect(201, 'PUT', '/a', { headers: { 'content-type': 'image/jpeg' }, body: 'x' })
  await ada.expect(207, 'PROPPATCH', '/a', {
    body:
      '<?xml version="1.0"?><D:propertyupdate xmlns:D="DAV:" xmlns:S="SAR:"><D:set><D:prop><D:getlastmodified>Fri, 14 Jul 2017 02:40:00 GMT</D:getlastmodified>' +
      '<S:lastmodified>1500000000</S:lastmodified></D:prop></D:set></D:propertyupdate>',
  })
  const properties = propertiesIn((await ada.expect(207, 'PROPFIND', '/a', { headers: one })).text)
  t.match(properties, {
    '{DAV:}getlastmodified': 'Fri, 14 Jul 2017 02:40:00 GMT',
    '{SAR:}lastmodified': '1500000000',
  })
})

test('a provider of Android reads a part of a file, as long as it is the same', async (t) => {
  const ada = await connect()
  await ada.expect(201, 'PUT', '/film', { body: '0123456789' })
  const head = await ada.expect(200, 'HEAD', '/film')
  t.equal(head.headers.get('accept-ranges'), 'bytes')
  const etag = head.headers.get('etag') ?? ''
  const part = await ada.expect(206, 'GET', '/film', { headers: { range: 'bytes=4-6', 'if-match': etag } })
  t.equal(part.text, '456')
  await ada.expect(204, 'PUT', '/film', { headers: { 'if-match': etag }, body: 'other' })
  await ada.expect(412, 'GET', '/film', { headers: { range: 'bytes=4-6', 'if-match': etag } })
})

test('a KeePass app locks, sends a temporary file, and moves it over the database', async (t) => {
  const ada = await connect()
  await ada.expect(201, 'PUT', '/db.kdbx', { body: 'old' })
  const token = await lockPath(ada, '/db.kdbx')
  await ada.expect(201, 'PUT', '/db.kdbx.tmp', { body: 'new' })
  const move = { destination: `${node.url.origin}/dav/db.kdbx` }
  await ada.expect(423, 'MOVE', '/db.kdbx.tmp', { headers: move })
  await ada.expect(204, 'MOVE', '/db.kdbx.tmp', {
    headers: { ...move, if: `<${move.destination}> (<${token}>)` },
  })
  await ada.expect(423, 'PUT', '/db.kdbx', { body: 'other' })
  await ada.expect(204, 'UNLOCK', '/db.kdbx', { headers: { 'lock-token': `<${token}>` } })
  t.equal(await contentOf(ada, '/db.kdbx'), 'new')
  t.same(await namesIn(ada, '/'), ['db.kdbx'])
  const versions = (await (await ada.user.fetch('/api/files/versions?path=/db.kdbx')).json()) as {
    versions: object[]
  }
  t.equal(versions.versions.length, 1, 'the former database is a version')
})

test('Joplin keeps its notes in a folder', async (t) => {
  const ada = await connect()
  for (const folder of ['/joplin', '/joplin/.resource', '/joplin/.sync'])
    await ada.expect(201, 'MKCOL', folder)
  const body =
    '<?xml version="1.0" encoding="UTF-8"?><d:propfind xmlns:d="DAV:"><d:prop><d:getlastmodified/><d:resourcetype/></d:prop></d:propfind>'
  const note = '/joplin/0a1b2c3d4e5f60718293a4b5c6d7e8f9.md'
  await ada.expect(404, 'PROPFIND', note, { headers: one, body })
  await ada.expect(201, 'PUT', note, {
    headers: { 'content-type': 'text/plain' },
    body: 'Groceries\n\nid: 0a1b',
  })
  const listed = responsesIn((await ada.expect(207, 'PROPFIND', '/joplin/', { headers: all, body })).text)
  t.equal(listed.length, 4)
  t.match((await ada.expect(404, 'GET', '/joplin/info.json')).text, /<s:exception>NOT_FOUND</)
  await ada.expect(204, 'DELETE', note)
})

test('Zotero verifies a server, and stores attachments', async (t) => {
  const ada = await connect()
  await ada.expect(200, 'OPTIONS', '/zotero/')
  const body = '<propfind xmlns="DAV:"><prop><getcontentlength/></prop></propfind>'
  await ada.expect(404, 'PROPFIND', '/zotero/', { headers: one, body })
  await ada.expect(207, 'PROPFIND', '/', { headers: one, body })
  await ada.expect(201, 'MKCOL', '/zotero/')
  await ada.expect(404, 'GET', '/zotero/nonexistent.prop')
  await ada.expect(201, 'PUT', '/zotero/zotero-test-file.prop', { body: ' ' })
  t.equal((await ada.expect(200, 'GET', '/zotero/zotero-test-file.prop')).text, ' ')
  await ada.expect(204, 'DELETE', '/zotero/zotero-test-file.prop')
  await ada.expect(201, 'PUT', '/zotero/ABCD2345.zip', {
    headers: { 'content-type': 'application/zip' },
    body: 'PK',
  })
  await ada.expect(201, 'PUT', '/zotero/ABCD2345.prop', {
    body: '<properties version="1"><mtime>1</mtime></properties>',
  })
})
