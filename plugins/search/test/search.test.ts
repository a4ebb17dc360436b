import type { TestUser } from '@nodekeep/kernel/testing'
import t, { test } from 'tap'
import {
  createSearchNode,
  found,
  type Page,
  pdfOf,
  put,
  search,
  send,
  until,
  untilComplete,
} from './fixtures/search-node.ts'

t.jobs = 3

const node = await createSearchNode()
t.teardown(() => node.stop())

test('files are found by their words, in all formats', async (t) => {
  const ada = await node.signIn()
  const utf16 = Buffer.from('\ufeffein Zebrastreifen', 'utf16le')
  await put(ada, '/plain.txt', 'The quick brown fox.\nIt jumps over the lazy zebra.')
  await put(ada, '/notes/list.md', '# Animals\n\n- a **zebra**\n- a lion')
  await put(ada, '/code.ts', 'export const zebra = 1')
  await put(ada, '/wide.txt', utf16)
  await put(ada, '/latin.txt', Buffer.from('Z\xe9bra et caf\xe9', 'latin1'))
  await put(
    ada,
    '/page.html',
    '<title>Zoo</title><script>zebraScript()</script><p>A ze<b>bra</b> &amp; more<p>crossing',
  )
  await put(ada, '/paper.pdf', pdfOf('Nothing here', 'A zebra on page two'))
  await put(ada, '/LICENSE', 'A zebra in a file without an extension')
  await put(ada, '/picture.jpg', 'zebra')
  await put(ada, '/data.unknown', Buffer.from('zebra\0\x01\x02'))
  await put(ada, '/empty.txt', '')
  await untilComplete(ada)
  const all = [
    '/LICENSE',
    '/code.ts',
    '/latin.txt',
    '/notes/list.md',
    '/page.html',
    '/paper.pdf',
    '/plain.txt',
    '/wide.txt',
  ]
  t.strictSame((await found(ada, 'zebra')).sort(), all)
  t.strictSame(
    (await found(ada, '"zebra"')).sort(),
    all.filter((path) => path !== '/wide.txt'),
    'no beginning of a word',
  )
  t.strictSame(await found(ada, 'zebrascript'), [], 'scripts have no words')
  t.strictSame(await found(ada, 'ZÉBRÀ jump'), ['/plain.txt'], 'all words are in the file')
  t.strictSame(await found(ada, 'jump zebra'), [], 'only the last word may be the beginning of one')
  t.strictSame(await found(ada, '"lazy zebra"'), ['/plain.txt'])
  t.strictSame(await found(ada, '"zebra lazy"'), [], 'the words of a phrase follow each other')
  t.strictSame(await found(ada, 'café'), ['/latin.txt'])
})

test('a match of the content has a snippet', async (t) => {
  const ada = await node.signIn()
  const long = `${'lorem ipsum '.repeat(500)}the Tücher and\n the  needle ${'dolor sit '.repeat(500)}`
  await put(ada, '/long.txt', long)
  await put(ada, '/paper.pdf', pdfOf('It says needle here'))
  await untilComplete(ada)
  const { snippet } = await withSnippet(ada, 'tucher need')
  t.strictSame(
    snippet?.filter(({ isMatch }) => isMatch).map(({ text }) => text),
    ['Tücher', 'needle'],
  )
  const text = snippet?.map(({ text }) => text).join('') ?? ''
  t.match(text, /^… [lorem ipsum]+ the Tücher and the needle [dolor sit]+ …$/)
  t.ok(text.length < 250)
  const pdf = await withSnippet(ada, 'says')
  t.strictSame([pdf.path, pdf.match], ['/paper.pdf', 'content'])
  t.equal(
    pdf.snippet
      ?.map(({ text }) => text)
      .join('')
      .trim(),
    'It says needle here',
  )
})

test('names come first, by any part of them, and each entry once', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/the report.txt', 'report report')
  await put(ada, '/Repörts/a.jpg', 'x')
  await put(ada, '/b.txt', 'a report')
  await untilComplete(ada)
  const { entries, next } = await search(ada, 'report')
  t.strictSame(
    entries.map(({ path, name, type, match }) => [path, name, type, match]),
    [
      ['/Repörts', 'Repörts', 'folder', 'name'],
      ['/the report.txt', 'the report.txt', 'file', 'name'],
      ['/b.txt', 'b.txt', 'file', 'content'],
    ],
    'a name that begins with it is the first one',
  )
  t.equal(next, null)
  t.strictSame(await found(ada, 'eport th'), ['/the report.txt'], 'all parts are in the name')
  t.strictSame(await found(ada, 'report', { limit: '1' }), ['/Repörts', '/the report.txt', '/b.txt'])
  t.strictSame(await found(ada, 'report', { type: 'text' }), ['/the report.txt', '/b.txt'])
  t.strictSame(await found(ada, 'report', { type: 'folder' }), ['/Repörts'])
  t.strictSame(await found(ada, '.jpg', { in: '/Repörts/' }), ['/Repörts/a.jpg'])
  t.strictSame(await found(ada, '.jpg', { in: '/Rep' }), [])
  t.strictSame(await found(ada, '& .jpg'), [], 'signs are looked for in names')
})

test('the search follows changes', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/a/one.txt', 'walrus')
  await put(ada, '/a/two.txt', 'walrus')
  await untilComplete(ada)
  await put(ada, '/a/one.txt', 'dolphin')
  await send(ada, 'POST', '/move', { source: '/a', destination: '/b' })
  await until(async () => (await found(ada, 'dolphin')).length === 1)
  t.strictSame(await found(ada, 'walrus'), ['/b/two.txt'])
  t.strictSame(await found(ada, 'one'), ['/b/one.txt'])
  await send(ada, 'POST', '/delete', { path: '/b' })
  t.strictSame(await found(ada, 'walrus'), [], 'what is in the trash is not found')
  t.strictSame(await found(ada, 'two'), [])
  const { items } = (await send(ada, 'GET', '/api/files/trash')) as { items: { id: string }[] }
  await send(ada, 'POST', '/api/files/trash/restore', { id: items[0]?.id })
  await until(async () => (await found(ada, 'walrus')).length === 1)
  t.strictSame(await found(ada, 'two'), ['/b/two.txt'], 'what is back with its folder is found again')
})

test('only own files are found, and only by those who may read them', async (t) => {
  const [ada, bob] = [await node.signIn(), await node.signIn()]
  await put(ada, '/secret.txt', 'giraffe')
  await put(bob, '/own.txt', 'tortoise')
  await untilComplete(ada)
  await untilComplete(bob)
  t.strictSame(await found(bob, 'giraffe'), [])
  t.strictSame(await found(bob, 'secret'), [])
  t.equal((await node.fetch('/api/search?q=giraffe')).status, 401)
  const tokenWith = async (scope: string) => {
    const { token } = (await send(ada, 'POST', '/api/account/tokens', { name: 'test', scopes: [scope] })) as {
      token: string
    }
    return node.fetch('/api/search?q=giraffe', { headers: { authorization: `Bearer ${token}` } })
  }
  t.equal((await tokenWith('files:write')).status, 403)
  t.equal((await tokenWith('files:read')).status, 200)
})

test('a query is no command, and bad ones are refused', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/words.txt', 'near or not text column and')
  await untilComplete(ada)
  for (const q of [
    'OR',
    'NOT',
    'text : and',
    'NEAR(near or)',
    'n*',
    '^near',
    '{text} : near',
    '"near',
    "' OR 1=1 --",
    '(',
    'near"or',
    '\0',
    '%',
    '\\',
  ])
    t.type((await search(ada, q)).entries, Array, q)
  t.strictSame(
    await found(ada, 'text:column'),
    ['/words.txt'],
    'the words of a word with signs follow each other',
  )
  const status = async (query: string) => (await ada.fetch(`/api/search?${query}`)).status
  t.equal(await status('q='), 400)
  t.equal(await status('q=%20%22%22'), 400)
  t.equal(await status(`q=${'a'.repeat(201)}`), 400)
  t.equal(await status('q=a&limit=101'), 400)
  t.equal(await status('q=a&type=files'), 400)
  t.equal(await status('q=a&in=relative'), 400)
  t.equal(await status('q=a&in=/a/../b'), 400)
  for (const after of ['x', 'n_1_2', 'c_1e999_0_0', `n_${'1'.repeat(99)}_0_0`])
    t.equal(await status(`q=a&after=${after}`), 400)
})

test('a folder with few of many matches is searched page by page', async (t) => {
  const ada = await node.signIn()
  for (let number = 0; number < 30; number += 1) await put(ada, `/many/${number}.txt`, 'heron')
  await put(ada, '/few/last.txt', 'heron heron')
  await untilComplete(ada)
  t.strictSame(await found(ada, 'heron', { in: '/few' }), ['/few/last.txt'])
  t.equal(new Set(await found(ada, 'heron', { in: '/many', limit: '7' })).size, 30)
  t.equal((await found(ada, 'heron', { limit: '7' })).length, 31)
})

/** The first match. It is asked for again until it has a snippet: a busy machine leaves snippets out. */
async function withSnippet(user: TestUser, q: string): Promise<Page['entries'][number]> {
  for (;;) {
    const [entry] = (await search(user, q)).entries
    if (entry !== undefined && entry.snippet !== null) return entry
  }
}
