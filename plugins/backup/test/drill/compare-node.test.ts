import { mkdir, readdir, readFile, rename, rm, rmdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestUser } from '@nodekeep/kernel/testing'
import { type Test, test } from 'tap'
import type { UserMount } from '../../src/archive/user-files.ts'
import { compareNode } from '../../src/drill/compare-node.ts'
import { makeBackup, unpacked } from '../fixtures/backup-node.ts'
import { drilledNode } from './fixtures/drilled-node.ts'

const mounts: readonly UserMount[] = [
  { point: '', archived: 'files/local' },
  { point: '/disk/second', archived: 'files/disk2' },
]

/** A node with a backup, and a comparison of both. A node that still is as in its backup stands for a restored one. */
async function comparedNode(t: Test) {
  const made = await drilledNode(t)
  const { node, owner, ada, bob } = made
  const { filename } = await makeBackup(owner)
  const folder = await unpacked(t, node, filename)
  const sessions = new Map([owner, ada, bob].map((user): [string, TestUser] => [user.user.uuid, user]))
  const users = join(folder, 'state', 'users.json')
  const compare = (changes: { mounts?: readonly UserMount[]; plugins?: readonly string[] } = {}) =>
    compareNode({
      trial: {
        async fetch(path, { as = '', ...init } = {}) {
          const user = sessions.get(as)
          return user === undefined ? node.fetch(path, init) : user.fetch(path, init)
        },
      },
      manifest: join(folder, 'manifest.json'),
      users,
      plugins: ['files', 'backup'],
      mounts,
      signal: new AbortController().signal,
      ...changes,
    })
  return { ...made, compare, users, home: join(node.dataFolder, 'files', ada.user.uuid) }
}

// Each test leaves the node as its backup says, or changes what the next ones do not look at.
test('a node and its backup', async (t) => {
  const compared = await comparedNode(t)

  await t.test('a node that has what its backup says is the same', async (t) => {
    const { compare } = compared
    t.strictSame(await compare(), { users: 3, files: 4, bytes: 12 + 6 + 15 })
  })

  await t.test('the first difference of the files is told', async (t) => {
    const { compare, home, bob } = compared
    const folder = join(home, 'notes')
    const note = join(folder, String((await readdir(folder))[0]))
    const aside = `${home}-aside`
    const ofBob = join(home, '..', bob.user.uuid)
    const more = join(home, 'more')
    const rewrite = async (content: string, seconds = 1700000000) => {
      await writeFile(note, content)
      await utimes(note, seconds, seconds)
    }
    for (const [problem, change, undo] of [
      [/^the file "\/notes\/[^"]+" has another content$/, () => rewrite('of Eve'), () => rewrite('of Ada')],
      [/" has another size$/, () => rewrite('of Adas'), () => rewrite('of Ada')],
      [/" has another time of modification$/, () => rewrite('of Ada', 1), () => rewrite('of Ada')],
      [/^the file "\/notes\/[^"]+" is missing$/, () => rename(note, aside), () => rename(aside, note)],
      [/^the backup has no file "\/more"$/, () => writeFile(more, ''), () => rm(more)],
      [/^the backup has no folder "\/more"$/, () => mkdir(more), () => rmdir(more)],
      [
        /^the backup has no file "\/notes"$/,
        async () => {
          await rename(folder, aside)
          await writeFile(folder, '')
        },
        async () => {
          await rm(folder)
          await rename(aside, folder)
        },
      ],
      [
        /^the backup has no file "\/of a user without files"$/,
        async () => {
          await mkdir(ofBob)
          await writeFile(join(ofBob, 'of a user without files'), '')
        },
        () => rm(ofBob, { recursive: true }),
      ],
    ] as const) {
      await change()
      await t.rejects(compare(), { message: problem })
      await undo()
    }
    t.match(await compare(), { files: 4 })
  })

  await t.test(
    'files are looked for where users see them, and those that were not restored are left alone',
    async (t) => {
      const { compare, ada } = compared
      const swapped = [
        { point: '', archived: 'files/disk2' },
        { point: '/disk/second', archived: 'files/local' },
      ]
      await t.rejects(compare({ mounts: swapped }), { message: /^the backup has no f/ })

      const [root] = mounts as [UserMount]
      await ada.fetch('/write?path=/disk/second/more.txt', { method: 'PUT', body: 'more' })
      await t.rejects(compare(), { message: /^the backup has no file "\/disk\/second\/more\.txt"/ })
      const found = await compare({ mounts: [root, { point: '/disk/second', archived: null }] })
      t.equal(found.files, 3)
      t.match(await compare({ mounts: [] }), { files: 0 })
    },
  )

  await t.test('a plugin that does not work, and a user who differs, are told', async (t) => {
    const { compare, owner, ada, users } = compared
    const listed = await readFile(users, 'utf8')
    const known = JSON.parse(listed) as Record<string, object>
    const { [ada.user.uuid]: entry, ...others } = known
    for (const [changed, message] of [
      [others, /^there is a user .+ whom the backup does not list$/],
      [{ ...known, [crypto.randomUUID()]: entry }, /^the user .+ is missing$/],
      [{ ...others, [ada.user.uuid]: { ...entry, username: 'eve' } }, /^the user eve has another username$/],
      [{ ...others, [ada.user.uuid]: { ...entry, wallet: '0x0' } }, / has another wallet$/],
    ] as const) {
      await writeFile(users, JSON.stringify(changed))
      await t.rejects(compare(), { message })
    }
    await writeFile(users, listed)
    await t.rejects(compare({ plugins: ['files', 'absent'] }), { message: /^the plugin "absent" is missing/ })
    await owner.fetch('/api/system/plugins/disk3/disable', { method: 'POST' })
    await t.rejects(compare({ plugins: ['disk3'] }), { message: /^the plugin "disk3" is disabled/ })
  })
})
