/** `install.ts TARBALLS FOLDER`: installs the packages of one folder into another, for all tests of a run. */
import { tarballsIn } from '../release/pack.ts'
import { installConsumer } from './consumer.ts'

const [tarballs = '', folder = ''] = process.argv.slice(2)
await installConsumer(folder, tarballsIn(tarballs))
