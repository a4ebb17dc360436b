import type { UserPath } from '../paths/user-path.ts'

/**
 * The folder of a backend with what is kept of the users: deleted files, and former contents. It lies beside the folders of the users, which have
 * a uuid as their name. Below it, each user has a folder, and there each kept file or folder a name of its own.
 */
export const keptFolder = '/kept'

/**
 * The path within a backend of something that is kept.
 *
 * @param name its name, or a path in it; empty for all that is kept of the user
 */
export function keptPath(userUuid: string, name: string): string {
  const folder = `${keptFolder}/${userUuid}`
  return name === '' ? folder : `${folder}/${name}`
}

/** The path of the lock of something kept, by its name or a path in it. No path of a user has the character NUL. */
export function keptLock(name: string): UserPath {
  return `/\0kept/${name}` as UserPath
}
