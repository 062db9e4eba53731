// Package wide has a row of 300 fields and one with long names.
package wide

import (
	"iter"
	"time"

	tws "github.com/tws-go/tws/runtime"
)

// Inner is nested.
type Inner struct {
	A int8
}

// Row has 300 fields.
type Row struct {
	F001 bool          `json:"f001"`
	F002 int           `json:"f002"`
	F003 int8          `json:"f003"`
	F004 int16         `json:"f004"`
	F005 int32         `json:"f005"`
	F006 int64         `json:"f006"`
	F007 uint          `json:"f007"`
	F008 uint8         `json:"f008"`
	F009 uint16        `json:"f009"`
	F010 uint32        `json:"f010"`
	F011 uint64        `json:"f011"`
	F012 float32       `json:"f012"`
	F013 float64       `json:"f013"`
	F014 string        `json:"f014"`
	F015 []byte        `json:"f015"`
	F016 time.Time     `json:"f016"`
	F017 time.Duration `json:"f017"`
	F018 *string       `json:"f018"`
	F019 []int64       `json:"f019"`
	F020 *Inner        `json:"f020"`
	F021 bool          `json:"f021"`
	F022 int           `json:"f022"`
	F023 int8          `json:"f023"`
	F024 int16         `json:"f024"`
	F025 int32         `json:"f025"`
	F026 int64         `json:"f026"`
	F027 uint          `json:"f027"`
	F028 uint8         `json:"f028"`
	F029 uint16        `json:"f029"`
	F030 uint32        `json:"f030"`
	F031 uint64        `json:"f031"`
	F032 float32       `json:"f032"`
	F033 float64       `json:"f033"`
	F034 string        `json:"f034"`
	F035 []byte        `json:"f035"`
	F036 time.Time     `json:"f036"`
	F037 time.Duration `json:"f037"`
	F038 *string       `json:"f038"`
	F039 []int64       `json:"f039"`
	F040 *Inner        `json:"f040"`
	F041 bool          `json:"f041"`
	F042 int           `json:"f042"`
	F043 int8          `json:"f043"`
	F044 int16         `json:"f044"`
	F045 int32         `json:"f045"`
	F046 int64         `json:"f046"`
	F047 uint          `json:"f047"`
	F048 uint8         `json:"f048"`
	F049 uint16        `json:"f049"`
	F050 uint32        `json:"f050"`
	F051 uint64        `json:"f051"`
	F052 float32       `json:"f052"`
	F053 float64       `json:"f053"`
	F054 string        `json:"f054"`
	F055 []byte        `json:"f055"`
	F056 time.Time     `json:"f056"`
	F057 time.Duration `json:"f057"`
	F058 *string       `json:"f058"`
	F059 []int64       `json:"f059"`
	F060 *Inner        `json:"f060"`
	F061 bool          `json:"f061"`
	F062 int           `json:"f062"`
	F063 int8          `json:"f063"`
	F064 int16         `json:"f064"`
	F065 int32         `json:"f065"`
	F066 int64         `json:"f066"`
	F067 uint          `json:"f067"`
	F068 uint8         `json:"f068"`
	F069 uint16        `json:"f069"`
	F070 uint32        `json:"f070"`
	F071 uint64        `json:"f071"`
	F072 float32       `json:"f072"`
	F073 float64       `json:"f073"`
	F074 string        `json:"f074"`
	F075 []byte        `json:"f075"`
	F076 time.Time     `json:"f076"`
	F077 time.Duration `json:"f077"`
	F078 *string       `json:"f078"`
	F079 []int64       `json:"f079"`
	F080 *Inner        `json:"f080"`
	F081 bool          `json:"f081"`
	F082 int           `json:"f082"`
	F083 int8          `json:"f083"`
	F084 int16         `json:"f084"`
	F085 int32         `json:"f085"`
	F086 int64         `json:"f086"`
	F087 uint          `json:"f087"`
	F088 uint8         `json:"f088"`
	F089 uint16        `json:"f089"`
	F090 uint32        `json:"f090"`
	F091 uint64        `json:"f091"`
	F092 float32       `json:"f092"`
	F093 float64       `json:"f093"`
	F094 string        `json:"f094"`
	F095 []byte        `json:"f095"`
	F096 time.Time     `json:"f096"`
	F097 time.Duration `json:"f097"`
	F098 *string       `json:"f098"`
	F099 []int64       `json:"f099"`
	F100 *Inner        `json:"f100"`
	F101 bool          `json:"f101"`
	F102 int           `json:"f102"`
	F103 int8          `json:"f103"`
	F104 int16         `json:"f104"`
	F105 int32         `json:"f105"`
	F106 int64         `json:"f106"`
	F107 uint          `json:"f107"`
	F108 uint8         `json:"f108"`
	F109 uint16        `json:"f109"`
	F110 uint32        `json:"f110"`
	F111 uint64        `json:"f111"`
	F112 float32       `json:"f112"`
	F113 float64       `json:"f113"`
	F114 string        `json:"f114"`
	F115 []byte        `json:"f115"`
	F116 time.Time     `json:"f116"`
	F117 time.Duration `json:"f117"`
	F118 *string       `json:"f118"`
	F119 []int64       `json:"f119"`
	F120 *Inner        `json:"f120"`
	F121 bool          `json:"f121"`
	F122 int           `json:"f122"`
	F123 int8          `json:"f123"`
	F124 int16         `json:"f124"`
	F125 int32         `json:"f125"`
	F126 int64         `json:"f126"`
	F127 uint          `json:"f127"`
	F128 uint8         `json:"f128"`
	F129 uint16        `json:"f129"`
	F130 uint32        `json:"f130"`
	F131 uint64        `json:"f131"`
	F132 float32       `json:"f132"`
	F133 float64       `json:"f133"`
	F134 string        `json:"f134"`
	F135 []byte        `json:"f135"`
	F136 time.Time     `json:"f136"`
	F137 time.Duration `json:"f137"`
	F138 *string       `json:"f138"`
	F139 []int64       `json:"f139"`
	F140 *Inner        `json:"f140"`
	F141 bool          `json:"f141"`
	F142 int           `json:"f142"`
	F143 int8          `json:"f143"`
	F144 int16         `json:"f144"`
	F145 int32         `json:"f145"`
	F146 int64         `json:"f146"`
	F147 uint          `json:"f147"`
	F148 uint8         `json:"f148"`
	F149 uint16        `json:"f149"`
	F150 uint32        `json:"f150"`
	F151 uint64        `json:"f151"`
	F152 float32       `json:"f152"`
	F153 float64       `json:"f153"`
	F154 string        `json:"f154"`
	F155 []byte        `json:"f155"`
	F156 time.Time     `json:"f156"`
	F157 time.Duration `json:"f157"`
	F158 *string       `json:"f158"`
	F159 []int64       `json:"f159"`
	F160 *Inner        `json:"f160"`
	F161 bool          `json:"f161"`
	F162 int           `json:"f162"`
	F163 int8          `json:"f163"`
	F164 int16         `json:"f164"`
	F165 int32         `json:"f165"`
	F166 int64         `json:"f166"`
	F167 uint          `json:"f167"`
	F168 uint8         `json:"f168"`
	F169 uint16        `json:"f169"`
	F170 uint32        `json:"f170"`
	F171 uint64        `json:"f171"`
	F172 float32       `json:"f172"`
	F173 float64       `json:"f173"`
	F174 string        `json:"f174"`
	F175 []byte        `json:"f175"`
	F176 time.Time     `json:"f176"`
	F177 time.Duration `json:"f177"`
	F178 *string       `json:"f178"`
	F179 []int64       `json:"f179"`
	F180 *Inner        `json:"f180"`
	F181 bool          `json:"f181"`
	F182 int           `json:"f182"`
	F183 int8          `json:"f183"`
	F184 int16         `json:"f184"`
	F185 int32         `json:"f185"`
	F186 int64         `json:"f186"`
	F187 uint          `json:"f187"`
	F188 uint8         `json:"f188"`
	F189 uint16        `json:"f189"`
	F190 uint32        `json:"f190"`
	F191 uint64        `json:"f191"`
	F192 float32       `json:"f192"`
	F193 float64       `json:"f193"`
	F194 string        `json:"f194"`
	F195 []byte        `json:"f195"`
	F196 time.Time     `json:"f196"`
	F197 time.Duration `json:"f197"`
	F198 *string       `json:"f198"`
	F199 []int64       `json:"f199"`
	F200 *Inner        `json:"f200"`
	F201 bool          `json:"f201"`
	F202 int           `json:"f202"`
	F203 int8          `json:"f203"`
	F204 int16         `json:"f204"`
	F205 int32         `json:"f205"`
	F206 int64         `json:"f206"`
	F207 uint          `json:"f207"`
	F208 uint8         `json:"f208"`
	F209 uint16        `json:"f209"`
	F210 uint32        `json:"f210"`
	F211 uint64        `json:"f211"`
	F212 float32       `json:"f212"`
	F213 float64       `json:"f213"`
	F214 string        `json:"f214"`
	F215 []byte        `json:"f215"`
	F216 time.Time     `json:"f216"`
	F217 time.Duration `json:"f217"`
	F218 *string       `json:"f218"`
	F219 []int64       `json:"f219"`
	F220 *Inner        `json:"f220"`
	F221 bool          `json:"f221"`
	F222 int           `json:"f222"`
	F223 int8          `json:"f223"`
	F224 int16         `json:"f224"`
	F225 int32         `json:"f225"`
	F226 int64         `json:"f226"`
	F227 uint          `json:"f227"`
	F228 uint8         `json:"f228"`
	F229 uint16        `json:"f229"`
	F230 uint32        `json:"f230"`
	F231 uint64        `json:"f231"`
	F232 float32       `json:"f232"`
	F233 float64       `json:"f233"`
	F234 string        `json:"f234"`
	F235 []byte        `json:"f235"`
	F236 time.Time     `json:"f236"`
	F237 time.Duration `json:"f237"`
	F238 *string       `json:"f238"`
	F239 []int64       `json:"f239"`
	F240 *Inner        `json:"f240"`
	F241 bool          `json:"f241"`
	F242 int           `json:"f242"`
	F243 int8          `json:"f243"`
	F244 int16         `json:"f244"`
	F245 int32         `json:"f245"`
	F246 int64         `json:"f246"`
	F247 uint          `json:"f247"`
	F248 uint8         `json:"f248"`
	F249 uint16        `json:"f249"`
	F250 uint32        `json:"f250"`
	F251 uint64        `json:"f251"`
	F252 float32       `json:"f252"`
	F253 float64       `json:"f253"`
	F254 string        `json:"f254"`
	F255 []byte        `json:"f255"`
	F256 time.Time     `json:"f256"`
	F257 time.Duration `json:"f257"`
	F258 *string       `json:"f258"`
	F259 []int64       `json:"f259"`
	F260 *Inner        `json:"f260"`
	F261 bool          `json:"f261"`
	F262 int           `json:"f262"`
	F263 int8          `json:"f263"`
	F264 int16         `json:"f264"`
	F265 int32         `json:"f265"`
	F266 int64         `json:"f266"`
	F267 uint          `json:"f267"`
	F268 uint8         `json:"f268"`
	F269 uint16        `json:"f269"`
	F270 uint32        `json:"f270"`
	F271 uint64        `json:"f271"`
	F272 float32       `json:"f272"`
	F273 float64       `json:"f273"`
	F274 string        `json:"f274"`
	F275 []byte        `json:"f275"`
	F276 time.Time     `json:"f276"`
	F277 time.Duration `json:"f277"`
	F278 *string       `json:"f278"`
	F279 []int64       `json:"f279"`
	F280 *Inner        `json:"f280"`
	F281 bool          `json:"f281"`
	F282 int           `json:"f282"`
	F283 int8          `json:"f283"`
	F284 int16         `json:"f284"`
	F285 int32         `json:"f285"`
	F286 int64         `json:"f286"`
	F287 uint          `json:"f287"`
	F288 uint8         `json:"f288"`
	F289 uint16        `json:"f289"`
	F290 uint32        `json:"f290"`
	F291 uint64        `json:"f291"`
	F292 float32       `json:"f292"`
	F293 float64       `json:"f293"`
	F294 string        `json:"f294"`
	F295 []byte        `json:"f295"`
	F296 time.Time     `json:"f296"`
	F297 time.Duration `json:"f297"`
	F298 *string       `json:"f298"`
	F299 []int64       `json:"f299"`
	F300 *Inner        `json:"f300"`
}

// Long has names that need long headers.
type Long struct {
	Loooooooooooooooooooooooooooooooooooooooong1  string
	Loooooooooooooooooooooooooooooooooooooooong2  string
	Loooooooooooooooooooooooooooooooooooooooong3  string
	Loooooooooooooooooooooooooooooooooooooooong4  string
	Loooooooooooooooooooooooooooooooooooooooong5  string
	Loooooooooooooooooooooooooooooooooooooooong6  string
	Loooooooooooooooooooooooooooooooooooooooong7  string
	Loooooooooooooooooooooooooooooooooooooooong8  string
	Loooooooooooooooooooooooooooooooooooooooong9  string
	Loooooooooooooooooooooooooooooooooooooooong10 string
	Loooooooooooooooooooooooooooooooooooooooong11 string
	Loooooooooooooooooooooooooooooooooooooooong12 string
	Loooooooooooooooooooooooooooooooooooooooong13 string
	Loooooooooooooooooooooooooooooooooooooooong14 string
	Loooooooooooooooooooooooooooooooooooooooong15 string
	Loooooooooooooooooooooooooooooooooooooooong16 string
	Loooooooooooooooooooooooooooooooooooooooong17 string
}

// Wide keeps the last row.
type Wide struct {
	tws.Processor[uint64, Row, Long] `tws:"wide"`

	Last tws.ValueState[Row]
	Long tws.ListState[Long]
}

// HandleInputRows keeps the last row.
func (w *Wide) HandleInputRows(_ *tws.InputContext, _ uint64, rows iter.Seq[Row], _ tws.Emitter[Long]) error {
	for row := range rows {
		if err := w.Last.Update(row); err != nil {
			return err
		}
	}
	return nil
}
