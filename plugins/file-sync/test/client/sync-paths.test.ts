import t from 'tap'
import { isSyncPath } from '../../src/client/sync-paths.ts'

t.test('a path of the node that leads out of the folder, or into that of the client, is none', async (t) => {
  for (const path of ['/a', '/a/b.txt', '/é', '/..a', '/.nodekeepignore', '/a/.nodekeep-sync'])
    t.ok(isSyncPath(path), path)
  for (const path of [
    '',
    '/',
    'a',
    '/../a',
    '/a/../../b',
    '/./a',
    '//a',
    '/a/',
    '/a\\..\\b',
    '/a\0b',
    '/e\u0301',
    '/\ud800',
    `/${'a'.repeat(256)}`,
    '/.nodekeep-sync',
    '/.nodekeep-sync/state.sqlite',
    '/.Nodekeep-Sync/trash',
    '/.nodekeep-\u017fync/state.sqlite',
    '/.node\u200ckeep-sync/state.sqlite',
  ]) {
    t.notOk(isSyncPath(path), JSON.stringify(path))
  }
})
