import t from 'tap'
import { startDavNode } from './fixtures/dav-node.ts'

const lists = '<propfind xmlns="DAV:"><prop><getetag/><getcontentlength/></prop></propfind>'

t.test(
  'a change by one way is there by each other way at once, with the entity tags that all ways have',
  async (t) => {
    const { user, ask, read, write } = await startDavNode(t)
    /** The entity tags in a folder, by the names of its files. */
    const tags = async (folder: string) => {
      const answer = await ask('PROPFIND', folder, { headers: { depth: '1' }, body: lists })
      t.equal(answer.status, 207)
      const responses = (await answer.text()).split(/<D:response>/).slice(1)
      return Object.fromEntries(
        responses.flatMap((response) => {
          const name = /<D:href>[^<]*?([^/<]+)<\/D:href>/.exec(response)?.[1]
          const tag = /<D:getetag>(.*?)<\/D:getetag>/.exec(response)?.[1]
          return tag === undefined || name === undefined ? [] : [[name, tag.replaceAll('&quot;', '"')]]
        }),
      )
    }
    const names = async () => {
      const entries = (await (await user.fetch('/readdir?path=/')).json()) as { name: string }[]
      return entries.map(({ name }) => name)
    }
    const followed = await user.fetch('/api/files/changes')
    const { cursor } = (await followed.json()) as { cursor: string }

    const put = await ask('PUT', '/one.txt', { body: 'one' })
    t.equal(put.status, 201)
    t.strictSame(await names(), ['one.txt'])
    t.equal(await read('/one.txt'), 'one')
    const changed = await user.fetch(`/api/files/changes?after=${encodeURIComponent(cursor)}&wait=10`)
    t.match(await changed.json(), { changes: [{ path: '/one.txt' }] })
    const { headers } = await user.fetch('/read?path=/one.txt', { method: 'HEAD' })
    t.equal((await tags('/'))['one.txt'], headers.get('etag'))
    t.equal((await ask('HEAD', '/one.txt')).headers.get('etag'), headers.get('etag'))

    await write('/two.txt', 'two')
    t.equal(await (await ask('GET', '/two.txt')).text(), 'two')
    t.strictSame(Object.keys(await tags('/')), ['one.txt', 'two.txt'])

    await write('/one.txt', 'one, changed')
    const stale = headers.get('etag') ?? ''
    const late = await ask('PUT', '/one.txt', { body: 'lost', headers: { 'if-match': stale } })
    t.equal(late.status, 412)
    const fresh = (await tags('/'))['one.txt'] ?? ''
    t.not(fresh, stale)
    t.equal((await ask('PUT', '/one.txt', { body: 'kept', headers: { 'if-match': fresh } })).status, 204)
    const overwritten = await user.fetch('/write?path=/one.txt', {
      method: 'PUT',
      body: 'lost',
      headers: { 'if-match': fresh },
    })
    t.equal(overwritten.status, 412)
    t.equal(await read('/one.txt'), 'kept')

    t.equal((await ask('DELETE', '/one.txt')).status, 204)
    t.strictSame(await names(), ['two.txt'])
    const trash = (await (await user.fetch('/api/files/trash')).json()) as { items: object[] }
    t.match(trash.items, [{ path: '/one.txt' }])
  },
)
