/** For programs of people: asks a node in turns whether files are stored, and says the outcome in words. It runs in browsers, too. */
export { FolderCheck, type HashedFile } from './folder-check.ts'
export { type CheckedAnswer, reasonOf, sentenceOf, type Tally } from './words.ts'
