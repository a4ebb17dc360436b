import { extensionOf, fileKindOf } from '@nodekeep/plugin-sdk/file-kinds'
import { test } from 'tap'

test('the extension of a name tells its kind, in any case', async (t) => {
  const kinds = {
    'IMG_1.JPG': 'picture',
    'a.song.opus': 'audio',
    'clip.mp4': 'video',
    'letter.docx': 'document',
    'budget.csv': 'table',
    'talk.key': 'slides',
    'notes.md': 'text',
    'index.ts': 'code',
    'photos.tar.gz': 'archive',
    'setup.exe': 'program',
  }
  for (const [name, kind] of Object.entries(kinds)) t.equal(fileKindOf(name), kind, name)
})

test('a name without an extension has a kind only if it is that of a text', async (t) => {
  for (const name of ['Makefile', 'Dockerfile', '.gitignore', '.env', 'app.dockerfile'])
    t.equal(fileKindOf(name), 'code', name)
  t.equal(fileKindOf('LOG'), 'text')
  for (const name of ['key', 'zip', '.zip', 'a.', '', 'a.unknown', 'a.constructor'])
    t.equal(fileKindOf(name), 'other', name)
})

test('an extension begins at the last dot, but not at a dot that begins the name', async (t) => {
  t.strictSame(['A.B.Txt', '.profile', 'a.', 'a'].map(extensionOf), ['txt', '', '', ''])
})
