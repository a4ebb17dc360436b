/** `npm run tuf`: makes and keeps a TUF repository of releases. RELEASING.md describes its use. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Argument, Command } from 'commander'
import { root } from '../../run/command.ts'
import { makeKeyFile, makeKeyFolder, passphraseOf, readKeys } from './key-files.ts'
import { type RoleName, roleNames } from './metadata.ts'
import { releaseNotes } from './release-notes.ts'
import { addReleases, platformsOf, readIndex } from './releases.ts'
import { Repository } from './repository.ts'
import { verifyRepository } from './verify-repository.ts'

const environmentHelp = `
Environment:
  TUF_PASSPHRASE  passphrase of encrypted keys
  TUF_KEYS        private keys in PEM, one after the other, beside those of --keys`

const program = new Command('npm run tuf --')
  .description('Make and keep a repository of signed releases. RELEASING.md describes how.')
  .addHelpText('after', environmentHelp)

program
  .command('keys')
  .description('make the keys of a new repository; the offline ones are encrypted with TUF_PASSPHRASE')
  .argument('<folder>', 'receives offline/*.pem and online/*.pem')
  .action(async (folder: string) => {
    await makeKeyFolder(folder, process.env)
    console.log(
      `The keys are in ${folder}. Keep copies of ${join(folder, 'offline')} on disks without a network.`,
    )
  })

program
  .command('key')
  .description('make one more key; with TUF_PASSPHRASE, it is encrypted')
  .argument('<file>', 'the new file, such as root-2.pem')
  .action(async (file: string) => {
    const { id } = await makeKeyFile(file, passphraseOf(process.env))
    console.log(`${file} has the key ${id}.`)
  })

program
  .command('init')
  .description('make a repository without releases')
  .argument('<repository>', 'the folder of the repository')
  .requiredOption('--keys <folder>', 'the folder that "keys" made; each offline/root*.pem is a root key')
  .option('--threshold <number>', 'number of root keys that must sign', Number, 1)
  .action(async (folder: string, options: { keys: string; threshold: number }) => {
    const read = (...files: string[]) => readKeys(files, { TUF_PASSPHRASE: process.env.TUF_PASSPHRASE })
    const offline = join(options.keys, 'offline')
    const online = join(options.keys, 'online')
    const rootKeys = (await readdir(offline)).filter((name) => /^root.*\.pem$/.test(name))
    const keys = {
      root: await read(...rootKeys.map((name) => join(offline, name))),
      targets: await read(join(offline, 'targets.pem')),
      releases: await read(join(online, 'releases.pem')),
      snapshot: await read(join(online, 'snapshot.pem')),
      timestamp: await read(join(online, 'timestamp.pem')),
    }
    await Repository.create(folder, keys, { rootThreshold: options.threshold })
    console.log(
      `Build releases with --root ${join(folder, 'metadata/root.json')}, so that they trust ${folder}.`,
    )
  })

interface KeyOptions {
  readonly keys: readonly string[]
}

/** A command that signs changes of a repository. */
function signingCommand(name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .argument('<repository>', 'the folder of the repository')
    .option('--keys <path...>', 'files of keys, or folders of them', [])
}

signingCommand('add', 'add releases, with their notes from CHANGELOG.md')
  .argument('<archive...>', 'archives of "npm run release"')
  .option('--notes <file>', 'take the notes from this file')
  .action(async (folder: string, archives: string[], options: KeyOptions & { notes?: string }) => {
    const text = await readFile(options.notes ?? join(root, 'CHANGELOG.md'), 'utf8')
    const notes = (version: string) =>
      options.notes === undefined ? releaseNotes(text, version) : text.trim()
    const added = await addReleases(
      await Repository.open(folder),
      archives.map((file) => ({ file, notes })),
      await readKeys(options.keys, process.env),
    )
    for (const archive of added) console.log(`Published ${archive}.`)
    if (added.length === 0) console.log('All of them are published already.')
  })

signingCommand('renew', 'sign the timestamp, and what has lived half of its time; run it every day').action(
  async (folder: string, options: KeyOptions) => {
    const repository = await Repository.open(folder)
    const signed = await repository.renew(await readKeys(options.keys, process.env))
    console.log(`Signed ${signed.join(', ')}.`)
    warnOfExpiry(repository)
  },
)

signingCommand('replace-keys', 'trust other keys of a role from now on')
  .addArgument(new Argument('<role>', 'the role').choices(roleNames))
  .argument('<key...>', 'files of all keys that the role has from now on, made by "key"')
  .option('--threshold <number>', 'number of them that must sign (default: as many as before)', Number)
  .action(
    async (folder: string, role: RoleName, files: string[], options: KeyOptions & { threshold?: number }) => {
      const repository = await Repository.open(folder)
      // TUF_KEYS has keys that sign now. Only the named ones follow.
      const successors = await readKeys(files, { TUF_PASSPHRASE: process.env.TUF_PASSPHRASE })
      const keys = await readKeys(options.keys, process.env)
      const signed = await repository.replaceKeys(role, successors, keys, options)
      console.log(`Signed ${signed.join(', ')}.`)
    },
  )

program
  .command('show')
  .description('show the roles with their expiry, and the releases')
  .argument('<repository>', 'the folder of the repository')
  .action(async (folder: string) => {
    const repository = await Repository.open(folder)
    for (const { role, version, expires, threshold, keys } of repository.roles()) {
      const until = expires.toISOString().slice(0, 10)
      console.log(
        `${role.padEnd(10)} version ${version}, until ${until}, signed by ${threshold} of ${keys} keys`,
      )
    }
    for (const platform of platformsOf(repository)) {
      const { releases = [] } = (await readIndex(repository, platform)) ?? {}
      console.log(`${platform.padEnd(10)} ${releases.map(({ version }) => version).join(', ')}`)
    }
    warnOfExpiry(repository)
  })

program
  .command('verify')
  .description('check the repository as a node does, and all of its archives')
  .argument('<repository>', 'the folder of the repository')
  .option('--root <file>', 'metadata of root to begin with (default: version 1)')
  .action(async (folder: string, options: { root?: string }) => {
    const archives = await verifyRepository(folder, options.root)
    for (const archive of archives) console.log(`ok ${archive}`)
    console.log(`${folder} is in order.`)
  })

/** Roles whose keys are offline expire without a machine that could renew them. */
function warnOfExpiry(repository: Repository): void {
  for (const { role, expires } of repository.roles()) {
    const days = Math.floor((expires.getTime() - Date.now()) / 86_400_000)
    if (days < 30 && (role === 'root' || role === 'targets' || role === 'releases'))
      console.warn(`"${role}" expires in ${days} days. Then nodes find no updates. Run "renew" with its key.`)
  }
}

try {
  await program.parseAsync()
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
}
