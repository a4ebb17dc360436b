export { readHeader, unpackBackup, verifyArchive } from './archive/read-archive.ts'
export { checkRecipient, generateKey, parseIdentity } from './archive/recovery-key.ts'
export { writeArchive } from './archive/write-archive.ts'
