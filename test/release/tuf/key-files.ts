import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { SigningKey } from './signing-key.ts'

/** The keys that sign rarely, and belong on a disk that is no part of a machine with a network. */
const offlineNames = ['root', 'targets']
/** The keys that sign each release and renew the metadata. */
const onlineNames = ['releases', 'snapshot', 'timestamp']
const shortestPassphrase = 20

/** The variables that hold secrets, so that they stand neither in a file nor in a command. */
interface KeyEnvironment {
  /** The passphrase of encrypted keys. */
  readonly TUF_PASSPHRASE?: string | undefined
  /** Keys in PEM, one after the other. */
  readonly TUF_KEYS?: string | undefined
}

/**
 * Makes the keys of a new repository: `offline/root.pem` and `offline/targets.pem`, encrypted with `TUF_PASSPHRASE`, and
 * `online/releases.pem`, `online/snapshot.pem` and `online/timestamp.pem`, which are secrets of a machine and not encrypted.
 *
 * @throws an error if one of the files exists, or the passphrase is shorter than 20 characters
 */
export async function makeKeyFolder(folder: string, environment: KeyEnvironment): Promise<void> {
  const passphrase = passphraseOf(environment)
  if (passphrase === undefined)
    throw new Error(
      'The offline keys are encrypted, and there is no passphrase. Set TUF_PASSPHRASE to one of at least 20 characters.',
    )
  for (const name of offlineNames) await makeKeyFile(join(folder, 'offline', `${name}.pem`), passphrase)
  for (const name of onlineNames) await makeKeyFile(join(folder, 'online', `${name}.pem`), undefined)
}

/**
 * Makes one more key, in a file that only its user can read.
 *
 * @param passphrase encrypts the key; `undefined` does not
 */
export async function makeKeyFile(file: string, passphrase: string | undefined): Promise<SigningKey> {
  const key = SigningKey.create()
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  await writeFile(file, key.toPem(passphrase), { flag: 'wx', mode: 0o600 })
  return key
}

/** Returns the passphrase for new keys. */
export function passphraseOf({ TUF_PASSPHRASE: passphrase }: KeyEnvironment): string | undefined {
  if (passphrase === undefined || passphrase === '') return undefined
  // OpenSSL's form of encrypted keys slows guessing down little, so the passphrase itself must withstand it.
  if (passphrase.length < shortestPassphrase)
    throw new Error(`TUF_PASSPHRASE is too short. Use at least ${shortestPassphrase} characters.`)
  return passphrase
}

/**
 * Reads private keys.
 *
 * @param paths files, and folders whose files `*.pem` are read, those of inner folders too
 * @param environment adds the keys in `TUF_KEYS`
 * @throws an error that names the file that other users can read, or that cannot be opened
 */
export async function readKeys(paths: readonly string[], environment: KeyEnvironment): Promise<SigningKey[]> {
  const keys = new Map<string, SigningKey>()
  const add = (name: string, pem: string) => {
    const key = open(name, pem, environment)
    keys.set(key.id, key)
  }
  for (const file of (await Promise.all(paths.map(keyFiles))).flat()) {
    const { mode } = await stat(file)
    if (process.platform !== 'win32' && (mode & 0o077) !== 0)
      throw new Error(`Other users can read the key ${file}. Run: chmod 600 ${file}`)
    add(file, await readFile(file, 'utf8'))
  }
  for (const [pem] of (environment.TUF_KEYS ?? '').matchAll(pemBlock)) add('in TUF_KEYS', pem)
  return [...keys.values()]
}

const pemBlock = /-----BEGIN [^-]+-----[^-]+-----END [^-]+-----/g

async function keyFiles(path: string): Promise<string[]> {
  if (!(await stat(path)).isDirectory()) return [path]
  const files = await readdir(path, { recursive: true })
  return files
    .filter((file) => file.endsWith('.pem'))
    .sort()
    .map((file) => join(path, file))
}

function open(name: string, pem: string, { TUF_PASSPHRASE: passphrase }: KeyEnvironment): SigningKey {
  const isEncrypted = pem.includes('ENCRYPTED')
  if (isEncrypted && !passphrase)
    throw new Error(`The key ${name} is encrypted. Set TUF_PASSPHRASE to its passphrase.`)
  try {
    return SigningKey.fromPem(pem, isEncrypted ? passphrase : undefined)
  } catch (error) {
    const hint = isEncrypted ? ' Is TUF_PASSPHRASE its passphrase?' : ''
    throw new Error(`The key ${name} cannot be opened.${hint}`, { cause: error })
  }
}
