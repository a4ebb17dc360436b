import type { Manifest } from '../walls/packages.ts'
import type { BuildStamp } from './build-stamp.ts'

/**
 * Makes the package.json that is published: without the parts that only this repository needs. The condition for the sources
 * goes, because Node refuses TypeScript below node_modules.
 *
 * @param build what the kernel tells about its build, in the field `build`; other packages have none
 */
export function publishedManifest(manifest: Manifest, build?: BuildStamp): object {
  const { devDependencies: _devDependencies, ...published } = manifest
  return JSON.parse(
    JSON.stringify({ ...published, build }, (key, value) => (key === 'nodekeep-source' ? undefined : value)),
  )
}
