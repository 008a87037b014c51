(() => {
const K = [KCONST];
const sha = (text) => {
const b = [];
for (let i = 0; i < text.length; i++) {
let c = text.codePointAt(i);
if (c > 0xffff) i++; else if (c >= 0xd800 && c <= 0xdfff) c = 0xfffd;
if (c < 0x80) b.push(c);
else if (c < 0x800) b.push(0xc0 | c >> 6, 0x80 | c & 63);
else if (c < 0x10000) b.push(0xe0 | c >> 12, 0x80 | c >> 6 & 63, 0x80 | c & 63);
else b.push(0xf0 | c >> 18, 0x80 | c >> 12 & 63, 0x80 | c >> 6 & 63, 0x80 | c & 63);
}
const n = b.length;
b.push(0x80);
while (b.length % 64 !== 56) b.push(0);
for (let s = 56; s >= 0; s -= 8) b.push(s > 31 ? (n * 8 / 2 ** s) & 255 : (n * 8 >>> s) & 255);
const h = [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];
const w = new Array(64), r = (x, k) => x >>> k | x << 32 - k;
for (let o = 0; o < b.length; o += 64) {
for (let i = 0; i < 64; i++) w[i] = i < 16 ? b[o + 4 * i] << 24 | b[o + 4 * i + 1] << 16 | b[o + 4 * i + 2] << 8 | b[o + 4 * i + 3] : (r(w[i - 2], 17) ^ r(w[i - 2], 19) ^ w[i - 2] >>> 10) + w[i - 7] + (r(w[i - 15], 7) ^ r(w[i - 15], 18) ^ w[i - 15] >>> 3) + w[i - 16] | 0;
let [A, B, C, D, E, F, G, H] = h;
for (let i = 0; i < 64; i++) {
const t = H + (r(E, 6) ^ r(E, 11) ^ r(E, 25)) + (E & F ^ ~E & G) + K[i] + w[i] | 0, u = (r(A, 2) ^ r(A, 13) ^ r(A, 22)) + (A & B ^ A & C ^ B & C) | 0;
H = G; G = F; F = E; E = D + t | 0; D = C; C = B; B = A; A = t + u | 0;
}
[A, B, C, D, E, F, G, H].forEach((x, i) => { h[i] = h[i] + x | 0; });
}
return h.map((x) => (x >>> 0).toString(16).padStart(8, "0")).join("");
};
const plain = (v) => typeof v === "function" ? undefined : Array.isArray(v) ? v.map(plain) : v && typeof v === "object" ? Object.fromEntries(Object.keys(v).sort().filter((k) => k !== "__proto__").map((k) => [k, plain(v[k])])) : v;
const options = (given) => {
const o = {};
for (const name of ["schema", "model", "effort", "isolation", "agentType", "disallowedTools", "bashCommandClamp"]) {
let v = given ? given[name] : undefined;
if ((name === "disallowedTools" || name === "bashCommandClamp") && Array.isArray(v)) v = v.length ? [...new Set(v)].sort() : undefined;
if (v !== undefined && typeof v !== "function") o[name] = v;
}
return JSON.stringify(plain(o));
};
const known = JSON.parse(TABLE), real = globalThis.agent;
globalThis.agent = async (prompt, given) => {
const left = typeof prompt === "string" ? known.calls[sha(prompt)] : undefined;
if (left && left.length) {
const asked = "\0" + prompt + "\0" + options(given);
for (let i = 0; i < left.length; i++) {
const [key, at, result] = left[i], states = typeof at === "number" ? known.states[at] : [at];
if (states.some((state) => "v2:" + sha(state + asked) === key)) { left.splice(i, 1); return JSON.parse(result); }
}
}
return real(prompt, given);
};
})();
