import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { root } from '../run/command.ts'
import { packRelease } from './release-archive.ts'

const folder = await mkdtemp(join(tmpdir(), 'nodekeep-releasing-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
await mkdir(join(folder, 'unpacked'))
await mkdir(join(folder, 'dist'))
await writeFile(join(folder, 'notes.md'), 'Better than before.')

const page = await readFile(join(root, 'RELEASING.md'), 'utf8')
const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text = '']) => text)
const [make = '', several = '', add = '', renew = '', renewAll = '', replace = '', replaceRoot = ''] =
  blocks.filter((text) => text.includes('npm run tuf'))

/** Runs a block of the page in a folder that stands for the checkout. */
async function shell(block: string): Promise<string> {
  const program = `'${process.execPath}' --conditions=nodekeep-source '${join(root, 'test/release/tuf/program.ts')}'`
  const npm = `npm() { shift 3; ${program} "$@"; }`
  const passphrase = "TUF_PASSPHRASE='nine long words that nobody guesses'; export TUF_PASSPHRASE"
  const { NODE_OPTIONS: _, ...env } = process.env
  const lines = block.replace(/^read -rs .*$/m, '')
  const script = `set -e\n${npm}\n${passphrase}\n${lines}`
  return (await promisify(execFile)('bash', ['-c', script], { cwd: folder, env })).stdout
}

async function build(version: string): Promise<string> {
  const release = { version, platform: 'linux-x64', buildDate: '2026-11-01T00:00:00.000Z' }
  await writeFile(join(folder, 'unpacked/release.json'), JSON.stringify(release))
  return packRelease(join(folder, 'unpacked'), join(folder, 'dist'), 1)
}

t.test('the commands of RELEASING.md make, fill, renew and rescue a repository', async (t) => {
  await shell(make)
  t.equal((await stat(join(folder, 'keys/offline/root.pem'))).mode & 0o777, 0o600)
  t.match(await readFile(join(folder, 'keys/offline/root.pem'), 'utf8'), 'ENCRYPTED')
  await build('1.0.0')
  t.match(await shell(add.replace(' --keys', ' --notes notes.md --keys')), 'repository is in order')
  t.match(await shell(renew), /Signed timestamp\.[\s\S]*linux-x64 +1\.0\.0/)
  t.match(await shell(renewAll), /Signed timestamp/)
  await shell(replace)
  await shell(replaceRoot)
  t.match(await shell('npm run tuf -- verify repository'), 'repository is in order')
  await shell(several.replaceAll(' repository', ' other'))
  t.match(await shell('npm run tuf -- show other'), /root +version 1, .* signed by 2 of 4 keys/)
})

t.test('the script for a public host publishes archives with the keys of its environment', async (t) => {
  const archive = await build('1.1.0')
  const read = (name: string) => readFile(join(folder, 'keys/online', name), 'utf8')
  await shell('npm run tuf -- replace-keys repository releases keys/online/releases.pem --keys keys')
  const names = (await readdir(join(folder, 'keys/online'))).filter((name) => name !== 'releases-2.pem')
  const { NODE_OPTIONS: _, ...env } = process.env
  const { stdout } = await promisify(execFile)(
    join(root, '.ci/publish'),
    [join(folder, 'repository'), archive],
    {
      env: {
        ...env,
        PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
        TUF_KEYS: (await Promise.all(names.map(read))).join(''),
        RELEASE_NOTES: join(folder, 'notes.md'),
      },
    },
  )
  t.match(stdout, 'Published linux-x64/nodekeep-1.1.0-linux-x64.tar.gz.')
  t.match(stdout, 'is in order.')
})

t.test('the script tells what is missing before it tests and builds', async (t) => {
  const { NODE_OPTIONS: _, TUF_KEYS: __, ...env } = process.env
  const publish = (args: string[], keys = {}) =>
    promisify(execFile)(join(root, '.ci/publish'), args, { env: { ...env, ...keys } })
  const keys = { TUF_KEYS: 'not read' }
  await t.rejects(publish([], keys), { message: /Name the folder of the repository/ })
  await t.rejects(publish([join(folder, 'repository')]), { message: /TUF_KEYS: It has the contents of/ })
  await t.rejects(publish([join(folder, 'nowhere')], keys), { message: /nowhere has no repository/ })
})
