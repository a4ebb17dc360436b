import { onSmallDisk } from '@nodekeep/kernel/testing'
import t from 'tap'

t.test('a publication that finds the disk full fails, and nothing of it is reachable', async (t) => {
  const found = await onSmallDisk('32m', new URL('../fixtures/full-disk-publisher.ts', import.meta.url))
  if (found === null) return void t.pass('a small disk cannot be mounted here', { skip: true })
  const problem = /disk .* is full.*Remove what is not needed, then try again/
  t.match(found, {
    full: { code: 'INSUFFICIENT_STORAGE', message: problem },
    list: [
      { path: '/large', state: 'failed', cid: null, problem },
      { path: '/small', state: 'published' },
    ],
    reachable: [404, 404],
    afterwards: '/medium',
    filled: { code: 'INSUFFICIENT_STORAGE', message: /is full/ },
    kept: [200, 200],
    withdrawn: 200,
    again: '/other',
    states: { '/small': 'published', '/other': 'published' },
    rows: ['/other', '/small'],
    roots: 2,
    damaged: 0,
  })
})
