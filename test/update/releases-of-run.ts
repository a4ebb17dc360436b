import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ReleaseServer, serveReleases } from './release-server.ts'

let server: Promise<ReleaseServer> | null = null

/** Returns the releases that everything in this process shares, since they take long to build. They go with the process. */
export function releasesOfRun(): Promise<ReleaseServer> {
  server ??= mkdtemp(join(tmpdir(), 'nodekeep-releases-')).then((folder) => {
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
    return serveReleases(folder)
  })
  return server
}
